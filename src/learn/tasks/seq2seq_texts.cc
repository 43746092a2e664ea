#include "learn/tasks/seq2seq_texts.h"

#include <cmath>
#include <cstring>

#include "base/core/held_stop.h"
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/generate/prompts.h"
#include "learn/harness/example_scores.h"
#include "learn/harness/generated_texts.h"
#include "learn/metrics/metric.h"

namespace hone {
namespace {

// Keeps with the model how its texts are generated: users get the texts that were evaluated. `fresh`: the
// model has no generation_config.json, and config.json was read.
void note_generation(const ModelConfig& config, const GenerationConfig& used, bool fresh,
                     Json& saved) {
  for (const std::string& key : fresh ? generation_keys() : std::vector<std::string>())
    if (const auto at = config.config.find(key); at != config.config.end() && !at->is_null())
      saved.emplace(key, *at);
  saved.erase("max_new_tokens");
  saved["max_length"] = *used.max_length;
  if (used.num_beams != 1 || saved.contains("num_beams")) saved["num_beams"] = used.num_beams;
  if (saved.contains("num_return_sequences")) saved["num_return_sequences"] = 1;
  saved.erase("_from_model_config");  // Transformers would make it again from config.json
}

}  // namespace

Result<GenerationConfig> evaluated_generation(const Seq2Seq& q, const Pretrained& model) {
  GenerationConfig config = HONE_TRY(generation_of(model));
  config.max_new_tokens.reset();
  config.max_length = q.settings->generated_length();
  if (const auto beams = q.num_beams()) config.num_beams = *beams;
  config.num_return_sequences = 1;
  return config;
}

Result<std::shared_ptr<GeneratedTexts>> GeneratedTexts::make(const Seq2Seq& q, Pretrained& model,
                                                             const Tokenizer& targets) {
  std::shared_ptr<GeneratedTexts> texts(new GeneratedTexts(q, model, targets));
  const bool fresh = model.generation_config.empty();
  HONE_TRY(texts->choose_generation(model));
  note_generation(model.config, texts->generation_, fresh, model.generation_config);
  model.trained.params_key = q.task_key();
  model.trained.params = {{"prefix", q.settings->source_prefix},
                          {"max_length", *texts->generation_.max_length},
                          {"num_beams", texts->generation_.num_beams}};
  return texts;
}

Status GeneratedTexts::choose_generation(Pretrained& model) {
  const Seq2SeqSettings& s = *q_.settings;
  generation_ = HONE_TRY(evaluated_generation(q_, model));
  model.generation_config.update(HONE_TRY(apply_target_language(
      generation_, {s.forced_bos_token, q_.side(true).target_lang}, targets_, model.config)));
  if (!s.predict_with_generate) return Ok{};
  if (q_.metric == "rouge") {
    auto folder = find_punkt_folder(q_.nltk_folder());
    if (!folder.ok() && !q_.nltk_folder().empty()) return std::move(folder.error());
    if (folder.ok())
      sentences_ = std::make_unique<SentenceSplitter>(HONE_TRY(SentenceSplitter::load(*folder)));
    else
      log_warning(
          "rougeLsum takes each line for a sentence; for the numbers of Transformers' script, "
          "which "
          "splits lines into sentences by NLTK, name a folder with its punkt_tab data by "
          "--nltk_data");
  }
  log_info("{:<11} texts of at most {} tokens, {}", "evaluation", *generation_.max_length,
           generation_.num_beams > 1 ? fmt::format("{} beams", generation_.num_beams)
           : generation_.do_sample   ? "sampled"
                                     : "greedy");
  return check_generation(generation_, model.config.vocab);
}

Result<OrderedJson> GeneratedTexts::evaluate(TaskRun& run, int64_t begin, int64_t end,
                                             std::vector<std::string>* texts) {
  const auto counts = run.examples().metrics(begin);
  const int64_t rows = HONE_TRY(run.evaluate_rows(begin, end, *counts));
  if (rows < 0) return OrderedJson::object();
  OrderedJson metrics = counts->values(rows);
  if (!q_.settings->predict_with_generate) return metrics;
  std::vector<std::string> own;
  const bool done = HONE_TRY(generate(run, begin, end, texts ? *texts : own, metrics));
  if (!done) metrics.clear();
  return metrics;
}

Result<OrderedJson> GeneratedTexts::predict(TaskRun& run, int64_t begin, int64_t end,
                                            const std::string& folder) {
  const bool has_targets = run.examples().compared > begin;
  std::vector<std::string> texts;
  OrderedJson metrics;
  if (has_targets) {
    metrics = HONE_TRY(evaluate(run, begin, end, &texts));
    if (metrics.empty() || !q_.settings->predict_with_generate) return metrics;
  } else {
    metrics["samples"] = end - begin;
    if (!HONE_TRY(generate(run, begin, end, texts, metrics))) return OrderedJson::object();
  }
  const std::string file = folder + "/generated_predictions.txt";
  if (run.ranks().leads()) HONE_TRY(file_store().write(file, join(texts, "\n")));
  log_info("{:<11} {}{}", "predicted", file,
           has_targets ? "" : "; no metrics, because the rows have no targets");
  return metrics;
}

Result<bool> GeneratedTexts::generate(TaskRun& run, int64_t begin, int64_t end,
                                      std::vector<std::string>& texts, OrderedJson& metrics) {
  const CacheLimits& limits = *run.shapes().writes;
  if (!generator_) generator_ = Generator::over(run.session(), model_, limits);
  run.session().zero_states(Role::cache);
  const ExampleRows& data = *run.examples().eval;
  const bool compared = begin < run.examples().compared;
  MetricOptions options;
  options.sentences = sentences_.get();
  const auto metric = HONE_TRY(make_metric(q_.metric, options));
  GeneratedLengths lengths(generation_.pad_token_id.value_or(-1));
  std::vector<std::string> answers;  // for q_.score
  Progress bar("writing", end - begin);
  const HostWork work(run.ranks().control(), "writing texts", end - begin);
  // A few batches of each rank at a time, so that a stop need not wait for all.
  const int64_t chunk = 16 * limits.sources * run.ranks().share().ranks;
  for (int64_t from = begin; from < end; from += chunk) {
    if (stop_requested()) return false;
    const int64_t to = std::min(from + chunk, end);
    std::vector<PromptRow> rows;
    for (int64_t i = from; i < to; ++i) {
      const auto ids = data.axes[0].row(i);
      rows.push_back({{}, {ids.begin(), ids.end()}});
    }
    const std::vector<Prompt> prompts =
        HONE_TRY(generator_prompts(rows, generation_, model_.config));
    for (const Generated& g : HONE_TRY(generate_on_ranks(run, prompts))) {
      const std::string text = targets_.decode(g.tokens, true);
      lengths.add(prompts[g.prompt].tokens, g.tokens);
      texts.push_back(prediction_line(text, targets_));
      if (q_.score) answers.emplace_back(trim(text));
      if (!compared || q_.score) continue;
      const auto wanted = data.axes[1].row(from + static_cast<int64_t>(g.prompt));
      const std::string reference = targets_.decode(wanted, true);
      const std::string_view references[] = {trim(reference)};
      metric->add_text(trim(text), references);
      if (q_.settings->example_scores)
        HONE_TRY(
            add_example(from + static_cast<int64_t>(g.prompt) - begin, text, reference, options));
    }
    bar.update(to - begin, "");
    work.update(to - begin);
  }
  bar.finish();
  if (q_.score && compared) metrics.update(q_.score(begin >= run.examples().evaluated, answers));
  for (const MetricValue& v : compared && !q_.score ? HONE_TRY(metric->values()) : MetricValues())
    metrics[v.name] = std::round(v.value * metric_scale() * 1e4) / 1e4;
  metrics["gen_len"] = lengths.mean();
  return true;
}

// The texts of all prompts. Each rank generates those of some prompts, one after another in their order;
// all of them if the ranks gather weights together.
Result<std::vector<Generated>> GeneratedTexts::generate_on_ranks(TaskRun& run,
                                                                 std::span<const Prompt> prompts) {
  RunRanks& ranks = run.ranks();
  const RowRange own = run.gathers_weights() ? RowRange{0, std::ssize(prompts)}
                                             : share_rows(std::ssize(prompts), ranks.share());
  const auto mine =
      prompts.subspan(static_cast<size_t>(own.begin), static_cast<size_t>(own.count()));
  Result<std::vector<Generated>> written = std::vector<Generated>();
  if (!mine.empty()) written = generator_->run(mine, generation_);
  HONE_TRY(run.check_device());
  if (run.gathers_weights()) HONE_TRY(ranks.share_stops());
  if (ranks.alone() || run.gathers_weights()) return written;
  std::vector<int32_t> message{
      HeldStops::waiting()};  // then the prompt, the tokens and their number
  for (const Generated& g : HONE_TRY(std::move(written))) {
    message.push_back(static_cast<int32_t>(own.begin) + static_cast<int32_t>(g.prompt));
    message.push_back(static_cast<int32_t>(g.tokens.size()));
    message.insert(message.end(), g.tokens.begin(), g.tokens.end());
  }
  std::vector<Generated> all;
  for (const std::string& one : HONE_TRY(ranks.gather_bytes(
           {reinterpret_cast<const char*>(message.data()), message.size() * sizeof message[0]}))) {
    std::vector<int32_t> words(one.size() / sizeof(int32_t));
    std::memcpy(words.data(), one.data(), one.size());
    if (words[0] != 0) request_stop(words[0]);
    for (size_t at = 1; at < words.size();) {
      const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at) + 2;
      Generated& g = all.emplace_back();
      g.prompt = static_cast<size_t>(words[at]);
      g.tokens.assign(begin, begin + words[at + 1]);
      at += 2 + g.tokens.size();
    }
  }
  return all;
}

// The scores of one row, as if it were the only one.
Status GeneratedTexts::add_example(int64_t row, std::string_view text, std::string_view reference,
                                   const MetricOptions& options) {
  const auto metric = HONE_TRY(make_metric(q_.metric, options));
  const std::string_view references[] = {trim(reference)};
  metric->add_text(trim(text), references);
  OrderedJson scores;
  for (const MetricValue& v : HONE_TRY(metric->values())) scores[v.name] = v.value * metric_scale();
  q_.settings->example_scores->add(
      row, {{"prediction", trim(text)}, {"reference", trim(reference)}, {"scores", scores}});
  return Ok{};
}

Status GeneratedTexts::save_languages(const std::string& folder) const {
  const TokenizerSide side = q_.side(true);
  const std::string file = folder + "/tokenizer_config.json";
  if (side.source_lang.empty() || model_.config.text("model_type", "") != "mbart" ||
      !HONE_TRY(file_store().exists(file)))
    return Ok{};
  OrderedJson config = HONE_TRY(parse_ordered_json(HONE_TRY(file_store().read(file)), file));
  config["src_lang"] = side.source_lang;
  config["tgt_lang"] = side.target_lang;
  return file_store().write(file, dump_json(config, {.indent = 2}) + "\n");
}

}  // namespace hone
