#include "learn/tasks/seq2seq.h"

#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/generate/errors.h"
#include "learn/generate/prompts.h"
#include "learn/metrics/metric.h"
#include "learn/metrics/sentences.h"
#include "learn/pretrained/open.h"
#include "learn/tasks/seq2seq_data.h"
#include "learn/tasks/seq2seq_programs.h"
#include "learn/tasks/written_texts.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

int64_t longest(const TokenRows& rows) {
  int64_t most = 0;
  for (int64_t i = 0; i < rows.size(); ++i) most = std::max(most, rows.length(i));
  return most;
}

// T5 is told its task by words before the text; without them it begins from nothing.
std::string prefix_warning(const Seq2SeqSettings& s, const ModelConfig& config,
                           const std::string& first_source) {
  const auto prefix = task_prefix(s, config);
  if (!prefix || !s.source_prefix.empty() || first_source.starts_with(prefix->text)) return "";
  return fmt::format(
      "T5 knows a task by the words before the text, and there is no --source_prefix: a checkpoint "
      "that was trained on this task wants --source_prefix '{}'",
      prefix->text);
}

}  // namespace

Result<PairTokenizers> open_pair_tokenizers(const Seq2SeqSettings& s, const Pretrained& model) {
  HONE_TRY(tokenizer_of(model));
  OpenOptions options;
  options.revision = s.model_revision;
  options.cache_dir = s.cache_dir;
  options.token = s.token;
  const std::string name = s.tokenizer_name.empty() ? model.path : s.tokenizer_name;
  std::optional<Tokenizer> sources = model.tokenizer;
  if (!s.side(false).source_lang.empty())
    sources = HONE_TRY(open_tokenizer(name, options, s.side(false)));
  Tokenizer targets = HONE_TRY(open_tokenizer(name, options, s.side(true)));
  return PairTokenizers{std::move(*sources), std::move(targets)};
}

std::optional<TaskPrefix> task_prefix(const Seq2SeqSettings& s, const ModelConfig& config) {
  if (const auto tasks = config.config.find("task_specific_params");
      tasks != config.config.end() && tasks->is_object() && tasks->contains(s.task_key())) {
    const Json& own = (*tasks)[s.task_key()];
    if (own.is_object() && own.contains("prefix") && own["prefix"].is_string())
      if (const auto text = own["prefix"].get<std::string>(); !trim(text).empty())
        return TaskPrefix{text, true};
  }
  if (config.text("model_type", "") != "t5") return {};
  return TaskPrefix{s.usual_prefix(), false};
}

Status Seq2SeqSettings::choose_head(ModelConfig& config) const {
  HONE_TRY(check());
  if (streaming)
    return Error(err::kNoData, "summarization and translation read their rows into memory")
        .todo("leave --streaming out");
  return set_head(config, Head::seq2seq_lm);
}

int64_t Seq2SeqSettings::row_tokens(const ModelConfig& config) const {
  return std::min(max_source_length, config.max_positions);
}

int64_t Seq2SeqSettings::target_tokens(const ModelConfig& config) const {
  return std::min(std::max(target_length(true), target_length(false)), config.max_positions);
}

std::optional<CacheLimits> Seq2SeqSettings::generation_limits(const PairNeeds& needs,
                                                              int64_t source_tokens,
                                                              int64_t rows) const {
  if (!predict_with_generate || (!do_eval && !do_predict)) return {};
  CacheLimits limits;
  limits.sources = rows;
  limits.rows = rows * beams().value_or(generation_num_beams.value_or(needs.beams));
  limits.tokens = written_length();
  limits.longest_prompt = 1;
  limits.longest_source = source_tokens;
  return limits;
}

Program Seq2SeqSettings::build(const ModelConfig& config, const BatchShape& shape,
                               const std::string& name, bool train) const {
  const PairShape pairs{shape.source_tokens, shape.tokens, shape.slots};
  return train ? build_seq2seq_train(config, pairs, name, label_smoothing_factor)
               : build_seq2seq_eval(config, pairs, name, label_smoothing_factor);
}

Result<std::unique_ptr<TokenTask>> Seq2SeqSettings::open(Pretrained model,
                                                         bool from_scratch) const {
  auto task = std::make_unique<Seq2SeqTask>(*this);
  HONE_TRY(task->start(std::move(model), from_scratch));
  return std::unique_ptr<TokenTask>(std::move(task));
}

Seq2SeqTask::Seq2SeqTask(const Seq2SeqSettings& s) : TokenTask(s), s_(s) {}
Seq2SeqTask::~Seq2SeqTask() = default;

Status Seq2SeqTask::read_data() {
  tokenizers_ = HONE_TRY(open_pair_tokenizers(s_, model_));
  model_.tokenizer = tokenizers_->sources;
  HONE_TRY(choose_generation());

  Seq2SeqData data = HONE_TRY(read_seq2seq(s_, model_.config, *tokenizers_, pool()));
  for (const std::string& note : data.notes) log_info("{:<11} {}", "data", note);
  if (const std::string text = prefix_warning(s_, model_.config, data.first_source); !text.empty())
    log_warning("{}", text);
  eval_rows_ = data.eval_rows, test_rows_ = data.test_rows;
  test_has_targets_ = data.test_has_targets;
  std::unique_ptr<TokenRows> train, eval;
  uint64_t hash = 0;
  const auto take = [&](PairRows& rows, TokenRows& sources) -> Result<std::unique_ptr<TokenRows>> {
    sources = std::move(rows.sources);
    for (int64_t i = 0; i < sources.size(); ++i)
      for (const int32_t id : sources.row(i))
        if (id < 0 || id >= model_.config.source_vocab)
          return Error(err::kNoData,
                       fmt::format("token {} is outside the encoder's vocabulary of {}", id,
                                   model_.config.source_vocab))
              .todo("use the tokenizer that belongs to the model");
    return std::make_unique<TokenRows>(std::move(rows.targets));
  };
  if (data.train) {
    train = HONE_TRY(take(*data.train, train_sources_));
    hash = RowsHash(train_sources_.hash()).value() * 31 + train->hash();
  }
  if (data.eval) eval = HONE_TRY(take(*data.eval, eval_sources_));
  return feed().set_rows(std::move(train), std::move(eval), hash);
}

// What evaluations write by, as run_summarization has it: the model's own settings with the length
// and beams of the flags.
Status Seq2SeqTask::choose_generation() {
  generation_ = HONE_TRY(generation_of(model_));
  generation_.max_new_tokens.reset();
  generation_.max_length = s_.written_length();
  if (const auto beams = s_.beams() ? s_.beams() : s_.generation_num_beams)
    generation_.num_beams = *beams;
  generation_.num_return_sequences = 1;
  model_.generation_config.update(
      HONE_TRY(apply_target_language(generation_, {s_.forced_bos_token, s_.side(true).target_lang},
                                     tokenizers_->targets, model_.config)));
  if (!s_.predict_with_generate) return Ok{};
  if (s_.metric() == "rouge") {
    const auto folder = find_punkt_folder(s_.nltk_folder());
    if (!folder.ok() && !s_.nltk_folder().empty()) return std::move(folder.error());
    if (folder.ok())
      sentences_ = std::make_unique<SentenceSplitter>(HONE_TRY(SentenceSplitter::load(*folder)));
    else
      log_warning(
          "NLTK's punkt_tab data is not here, which run_summarization splits sentences by: for "
          "rougeLsum a line is a sentence (--nltk_data names the folder)");
  }
  log_info("{:<11} texts of at most {} tokens, {}", "evaluation", *generation_.max_length,
           generation_.num_beams > 1 ? fmt::format("{} beams", generation_.num_beams)
           : generation_.do_sample   ? "sampled"
                                     : "greedy");
  return check_generation(generation_, model_.config.vocab);
}

RunShapes Seq2SeqTask::shapes_for(int64_t rows, bool whole) const {
  RunShapes shapes;
  if (const TokenRows* targets = feed().train()) {
    const StepCount& steps = *feed().steps();
    const StepRows last = steps.rows_of_step(steps.steps_per_epoch() - 1);
    const int64_t r = std::min(rows, targets->size());
    shapes.train_pairs = choose_pair_grid(train_sources_.lengths(), targets->lengths(), r,
                                          (last.end - last.begin) % r, whole);
    shapes.accumulate = !whole;
  }
  if (const TokenRows* targets = feed().eval()) {
    // Rows without targets are written alone.
    const int64_t compared = eval_rows_ + (test_has_targets_ ? test_rows_ : 0);
    if (compared > 0) {
      const int64_t r = std::min({rows, s_.per_device_eval_batch_size, compared});
      std::vector<int64_t> source_lengths = eval_sources_.lengths(),
                           target_lengths = targets->lengths();
      source_lengths.resize(static_cast<size_t>(compared));
      target_lengths.resize(static_cast<size_t>(compared));
      shapes.eval_pairs = choose_pair_grid(source_lengths, target_lengths, r, compared % r);
    }
    shapes.writes = s_.generation_limits({0, generation_.num_beams}, longest(eval_sources_),
                                         std::min(s_.per_device_eval_batch_size, targets->size()));
  }
  return shapes;
}

Status Seq2SeqTask::plan_rows(const TakenRows& taken, bool training, StepPlan& plan) {
  const TokenRows& sources = training ? train_sources_ : eval_sources_;
  source_lengths_.clear();
  target_lengths_.clear();
  for (const int64_t row : taken.rows) {
    source_lengths_.push_back(sources.length(row));
    target_lengths_.push_back(taken.data->length(row));
  }
  plan_pair_step(source_lengths_, target_lengths_,
                 training ? shapes().train_pairs : shapes().eval_pairs, pair_plan_);
  plan.rows = pair_plan_.rows;
  plan.tokens = pair_plan_.source_tokens;  // as Transformers counts: those of the model's input
  plan.label_tokens = pair_plan_.label_tokens;
  plan.batches.resize(pair_plan_.batches.size());
  return Ok{};
}

Result<size_t> Seq2SeqTask::pack(const TakenRows& taken, const StepPlan&, size_t k, bool training,
                                 MicroBatch& batch) {
  const PairBatchPlan& plan = pair_plan_.batches[k];
  HONE_TRY(fill_pair_batch(training ? train_sources_ : eval_sources_, *taken.data,
                           model_.config.decoder_start, taken.rows, plan,
                           training ? shapes().train_pairs : shapes().eval_pairs, pair_));
  std::swap(batch, pair_.target);
  return plan.budget;
}

void Seq2SeqTask::put_rows(size_t program, const MicroBatch& batch) {
  TokenTask::put_rows(program, batch);
  put_input(program, "labels", batch.labels);
  put_input(program, "encoder_ids", pair_.source.ids);
  put_input(program, "encoder_positions", pair_.source.positions);
  put_input(program, "encoder_cu_seqlens", pair_.source.cu_seqlens);
  if (session().has_input(program, "encoder_sample_ids"))
    put_input(program, "encoder_sample_ids", pair_.source.sample_ids);
}

void Seq2SeqTask::reserve_steps(size_t rows, StepPlan& plan, MicroBatch& batch) {
  const PairGrid& grid = shapes().train_pairs;
  source_lengths_.reserve(rows);
  target_lengths_.reserve(rows);
  plan.batches.reserve(rows);
  reserve_pair_step(rows, grid, pair_plan_, pair_);
  PairMicroBatch other;  // pack() swaps
  reserve_pair_step(rows, grid, pair_plan_, other);
  batch = std::move(other.target);
}

bool Seq2SeqTask::add_metrics(size_t program, const MicroBatch& batch) {
  return metrics_->add(batch, session().output<float>(program, "nll"),
                       session().output<int32_t>(program, "correct"), first_row_);
}

OrderedJson Seq2SeqTask::metrics(int64_t rows) {
  OrderedJson m;
  m["loss"] = metrics_->loss.eval_loss();
  m["loss_per_token"] = metrics_->loss.eval_loss_per_token();
  m["samples"] = rows;
  return m;
}

Result<OrderedJson> Seq2SeqTask::evaluate_range(int64_t begin, int64_t end,
                                                std::vector<std::string>* texts) {
  feed().evaluate_rows(begin, end);
  first_row_ = begin;
  OrderedJson metrics = HONE_TRY(TokenTask::evaluate());
  if (metrics.empty() || !s_.predict_with_generate) return metrics;
  std::vector<std::string> own;
  const bool done = HONE_TRY(write_texts(begin, end, texts ? *texts : own, metrics));
  if (!done) metrics.clear();
  return metrics;
}

Result<OrderedJson> Seq2SeqTask::evaluate() { return evaluate_range(0, eval_rows_, nullptr); }

Result<OrderedJson> Seq2SeqTask::predict(const std::string& folder) {
  std::vector<std::string> texts;
  const int64_t end = eval_rows_ + test_rows_;
  OrderedJson metrics;
  if (test_has_targets_) {
    metrics = HONE_TRY(evaluate_range(eval_rows_, end, &texts));
    if (metrics.empty() || !s_.predict_with_generate) return metrics;
  } else {
    metrics["samples"] = test_rows_;
    if (!HONE_TRY(write_texts(eval_rows_, end, texts, metrics))) return OrderedJson::object();
  }
  const std::string file = folder + "/generated_predictions.txt";
  HONE_TRY(file_store().write(file, fmt::format("{}", fmt::join(texts, "\n"))));
  log_info("{:<11} {}{}", "predicted", file,
           test_has_targets_ ? "" : "; no metrics, because the rows have no targets");
  return metrics;
}

Result<bool> Seq2SeqTask::write_texts(int64_t begin, int64_t end, std::vector<std::string>& texts,
                                      OrderedJson& metrics) {
  if (!generator_) generator_ = Generator::over(session(), model_, *shapes().writes);
  session().zero_states(Role::cache);
  const Tokenizer& tokenizer = tokenizers_->targets;
  const bool compared = begin < eval_rows_ || test_has_targets_;
  MetricOptions options;
  options.sentences = sentences_.get();
  const auto metric = HONE_TRY(make_metric(s_.metric(), options));
  WrittenLengths lengths(generation_.pad_token_id.value_or(-1));
  Progress bar("writing", end - begin);
  // A few batches at a time, so that a stop need not wait for all.
  const int64_t chunk = 16 * shapes().writes->sources;
  for (int64_t from = begin; from < end; from += chunk) {
    if (stop_requested()) return false;
    const int64_t to = std::min(from + chunk, end);
    std::vector<PromptRow> rows;
    for (int64_t i = from; i < to; ++i) {
      const auto ids = eval_sources_.row(i);
      rows.push_back({{}, {ids.begin(), ids.end()}});
    }
    const std::vector<Prompt> prompts =
        HONE_TRY(generator_prompts(rows, generation_, model_.config));
    for (const Generated& g : HONE_TRY(generator_->run(prompts, generation_))) {
      const std::string text = tokenizer.decode(g.tokens, true);
      lengths.add(prompts[g.prompt].tokens, g.tokens);
      texts.push_back(prediction_line(text, tokenizer));
      if (!compared) continue;
      const auto wanted = feed().eval()->row(from + static_cast<int64_t>(g.prompt));
      const std::string reference = tokenizer.decode(wanted, true);
      const std::string_view references[] = {trim(reference)};
      metric->add_text(trim(text), references);
    }
    bar.update(to - begin, "");
  }
  bar.finish();
  const double times = s_.metric() == "rouge" ? 100 : 1;
  for (const MetricValue& v : compared ? HONE_TRY(metric->values()) : MetricValues())
    metrics[v.name] = std::round(v.value * times * 1e4) / 1e4;
  metrics["gen_len"] = lengths.mean();
  return true;
}

Status Seq2SeqTask::save_model_files(const std::string& folder) {
  // The length that the model learnt to write, for hone generate and Transformers.
  Json& saved = model_.generation_config;
  if (saved.empty()) {
    for (const char* key : {"bos_token_id", "decoder_start_token_id", "eos_token_id",
                            "forced_bos_token_id", "forced_eos_token_id", "pad_token_id"})
      if (const auto at = model_.config.config.find(key);
          at != model_.config.config.end() && !at->is_null())
        saved[key] = *at;
  }
  if (!saved.contains("max_length") && !saved.contains("max_new_tokens")) {
    saved["max_length"] = s_.written_length();
    saved.erase("_from_model_config");  // Transformers would make it anew from config.json
  }
  HONE_TRY(TokenTask::save_model_files(folder));
  // The languages that mBART's tokenizer was opened for, which Transformers keeps there as well.
  const TokenizerSide side = s_.side(true);
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
