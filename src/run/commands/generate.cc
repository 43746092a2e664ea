// hone generate: continues prompts with a causal language model.
#include <charconv>
#include <chrono>
#include <iostream>

#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/memory.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "engine/backends/backends.h"
#include "learn/generate/errors.h"
#include "learn/generate/prompts.h"
#include "learn/pretrained/open.h"
#include "learn/pretrained/weights.h"
#include "run/commands/errors.h"
#include "run/commands/run_generate.h"

namespace hone {
namespace {

struct GenerateSettings {
#define HONE_SETTINGS "run/commands/generate.def"
#include "base/settings/fields.inc"
};

// Every value of a flag that may be given several times; commas are part of the text.
std::vector<std::string> texts_of(const std::vector<std::string>& args, std::string_view flag) {
  std::vector<std::string> all;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string name = args[i].substr(0, args[i].find('='));
    std::replace(name.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(2, name.size())),
                 name.end(), '-', '_');
    if (name != flag) continue;
    if (name.size() < args[i].size())
      all.push_back(args[i].substr(name.size() + 1));
    else if (i + 1 < args.size())
      all.push_back(args[++i]);
  }
  return all;
}

Result<std::string> ask_for_prompt(bool as_script) {
  if (is_terminal(0)) std::cerr << "Model prompt >>> " << std::flush;
  std::string text;
  const bool line_only = as_script || is_terminal(0);
  if (line_only)
    std::getline(std::cin, text);
  else
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  if (std::cin.fail() || (!line_only && text.empty()))
    return Error(err::kMissingArgument, "there is no prompt, and standard input is empty")
        .todo("give --prompt TEXT or --prompt_file FILE.jsonl, or pipe text in");
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<std::vector<PromptRow>> prompts_of(const GenerateSettings& s,
                                          const std::vector<std::string>& args, bool as_script) {
  std::vector<PromptRow> rows;
  if (!s.prompt_file.empty()) rows = HONE_TRY(read_prompt_file(s.prompt_file));
  std::vector<std::string> texts = texts_of(args, "--prompt");
  if (texts.empty() && !s.prompt.empty()) texts = {s.prompt};
  if (as_script) std::erase(texts, "");
  if (rows.empty() && texts.empty()) texts = {HONE_TRY(ask_for_prompt(as_script))};
  for (std::string& t : texts) rows.push_back({std::move(t), {}});
  return rows;
}

Status read_end_tokens(const GenerateSettings& s, GenerationConfig& c) {
  if (s.eos_token_id.empty()) return Ok{};
  c.eos_token_id.clear();
  for (const std::string& word : s.eos_token_id) {
    int32_t id = 0;
    auto [end, ec] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (ec != std::errc() || end != word.data() + word.size() || id < -1)
      return Error(err::kBadGeneration, fmt::format("'{}' is not a token id", word))
          .at("--eos_token_id")
          .todo("give ids, such as --eos_token_id 50256");
    if (id >= 0) c.eos_token_id.push_back(id);
  }
  return Ok{};
}

// The model's generation config under the flags; `origin`: who says how long texts get, "" when
// nobody does.
Result<GenerationConfig> generation_from(const GenerateSettings& s,
                                         const std::vector<std::string>& args,
                                         const Pretrained& model, std::span<const PromptRow> rows,
                                         std::string& origin) {
  GenerationConfig c = HONE_TRY(generation_of(model));
  origin = "the model's generation config";
  if (family_of(model.config).encoder && !c.has_length()) {
    const std::string task = HONE_TRY(apply_task_params(c, model, rows));
    if (!task.empty())
      origin = fmt::format("task_specific_params.{} in the model's config.json", task);
    if (!c.has_length()) {
      c.max_length = kDefaultTargetLength;
      origin = "";
    }
  }
  auto over = [](auto& to, const auto& flag) {
    if (flag) to = *flag;
  };
  if (s.max_length || s.max_new_tokens) {
    c.max_length = s.max_length;
    c.max_new_tokens = s.max_new_tokens;
  }
  over(c.min_length, s.min_length);
  if (s.min_length) c.min_new_tokens.reset();
  over(c.min_new_tokens, s.min_new_tokens);
  over(c.do_sample, s.do_sample);
  over(c.temperature, s.temperature);
  over(c.top_k, s.top_k);
  over(c.top_p, s.top_p);
  over(c.min_p, s.min_p);
  over(c.num_beams, s.num_beams);
  over(c.num_return_sequences, s.num_return_sequences);
  over(c.length_penalty, s.length_penalty);
  over(c.repetition_penalty, s.repetition_penalty);
  over(c.no_repeat_ngram_size, s.no_repeat_ngram_size);
  nlohmann::json rest = nlohmann::json::object();
  if (!s.bad_words_ids.is_null() && !s.bad_words_ids.empty())
    rest["bad_words_ids"] = s.bad_words_ids;
  if (s.early_stopping) {
    const std::optional<bool> yes = bool_of(*s.early_stopping);
    rest["early_stopping"] = yes ? nlohmann::json(*yes) : nlohmann::json(*s.early_stopping);
  }
  HONE_TRY(apply_generation_json(c, rest, "the flags"));
  HONE_TRY(read_end_tokens(s, c));
  const std::vector<std::string> stops = texts_of(args, "--stop_strings");
  if (!stops.empty())
    c.stop_strings = stops;
  else if (!s.stop_strings.empty())
    c.stop_strings = {s.stop_strings};
  if (!s.stop_token.empty()) c.stop_strings.push_back(s.stop_token);
  c.seed = static_cast<uint64_t>(s.seed);
  return c;
}

void tell_length(const GenerateSettings& s, const GenerationConfig& c,
                 std::span<const Prompt> prompts, int64_t positions, std::string origin) {
  for (const Prompt& p : prompts) {
    const auto n = static_cast<int64_t>(p.tokens.size());
    if (c.end_length(n, positions) == c.end_length(n, INT64_MAX)) continue;
    log_info("the model has {} positions: sequences end there, the first after {} new tokens",
             positions, positions - n);
    break;
  }
  if (s.max_new_tokens) return;
  // An encoder reads the prompt: it is not a part of the text that is written.
  const bool has_source = !prompts.empty() && !prompts.front().source.empty();
  if (s.max_length) origin = "--max_length";
  if (c.max_new_tokens)
    log_info("at most {} new tokens, as {} says", *c.max_new_tokens, origin);
  else if (c.max_length && origin.empty())
    log_info(
        "at most {} tokens: no file of the model says how long its texts are; --max_new_tokens "
        "asks for another length",
        *c.max_length);
  else if (c.max_length)
    log_info("at most {} tokens{}, as {} says", *c.max_length, has_source ? "" : " with the prompt",
             origin);
  else
    log_info("at most 20 new tokens, as in Transformers; --max_new_tokens asks for another length");
}

void tell_idle_flags(const GenerateSettings& s, const GenerationConfig& c) {
  auto idle = [](bool given, const char* flag, const char* without) {
    if (given) log_info("{} has no effect without {}", flag, without);
  };
  if (!c.do_sample) {
    idle(s.temperature.has_value(), "--temperature", "--do_sample");
    idle(s.top_k.has_value(), "--top_k", "--do_sample");
    idle(s.top_p.has_value(), "--top_p", "--do_sample");
    idle(s.min_p.has_value(), "--min_p", "--do_sample");
  }
  if (c.num_beams == 1) {
    idle(s.length_penalty.has_value(), "--length_penalty", "--num_beams");
    idle(s.early_stopping.has_value(), "--early_stopping", "--num_beams");
  }
}

// Keeps the cache within half of the memory that is free on the device.
CacheLimits fit_memory(std::span<const Prompt> prompts, const GenerationConfig& c,
                       const ModelConfig& model, int64_t batch, const DeviceSpec& device) {
  const int64_t usable =
      device.own_memory ? device.memory_bytes - device.runtime_bytes : read_memory().usable_bytes();
  for (;; batch = (batch + 1) / 2) {
    const CacheLimits limits = limits_for(prompts, c, model, batch);
    const int64_t pages = limits.pages() + limits.sources * limits.source_blocks();
    const int64_t bytes = 8 * model.layers * model.kv_heads * model.head_dim * pages * limits.page;
    if (batch == 1 || bytes < usable / 2) {
      return limits;
    }
    log_info("the cache of {} prompts would take {}: fewer are processed together", batch,
             format_bytes(bytes));
  }
}

// Results on standard output, in the order of the prompts.
class Printer {
 public:
  Printer(const GenerateSettings& s, const Pretrained& model, const std::vector<PromptRow>& rows,
          std::span<const Prompt> prompts, const GenerationConfig& c, bool as_script)
      : settings_(s),
        model_(model),
        rows_(rows),
        prompts_(prompts),
        beams_(c.num_beams > 1),
        several_(rows.size() * static_cast<size_t>(c.num_return_sequences) > 1),
        as_script_(as_script) {
    if (model.tokenizer && !s.json && !several_ && !beams_ && s.stop_token.empty()) {
      stream_.emplace(*model.tokenizer);
      const std::span<const int32_t> before = text_before(0);
      for (int32_t id : before.last(std::min<size_t>(before.size(), 8))) stream_->push(id);
    }
  }

  GenerateCallbacks callbacks() {
    GenerateCallbacks c;
    if (stream_)
      c.token = [this](size_t, size_t, int32_t id) { print_out(begin() + stream_->push(id)); };
    c.done = [this](std::vector<Generated> all) {
      waiting_[all[0].prompt] = std::move(all);
      for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_;
           it = waiting_.erase(it), ++next_)
        print(it->second);
    };
    return c;
  }

 private:
  // The tokens that the new ones follow; what an encoder-decoder writes begins a text.
  std::span<const int32_t> text_before(size_t prompt) const {
    if (!prompts_[prompt].source.empty()) return {};
    return prompts_[prompt].tokens;
  }
  // Returns the text before a continuation, once.
  std::string begin() {
    if (begun_) return "";
    begun_ = true;
    return header(0, 0);
  }
  std::string header(size_t prompt, size_t sequence) {
    std::string text;
    if (as_script_)
      text = fmt::format("=== GENERATED SEQUENCE {} ===\n", ++count_);
    else if (several_)
      text = fmt::format("=== prompt {}{} ===\n", prompt + 1,
                         sequence > 0 ? fmt::format(", sequence {}", sequence + 1) : "");
    return text + (full() ? shown_prompt(prompt) : "");
  }
  bool full() const { return as_script_ || settings_.return_full_text; }
  std::string shown_prompt(size_t i) const {
    if (rows_[i].text) return rows_[i].text->substr(settings_.prefix.size());
    return model_.tokenizer ? model_.tokenizer->decode(rows_[i].tokens, true) : "";
  }

  std::string continuation(const Generated& g) const {
    std::string text = continuation_text(*model_.tokenizer, text_before(g.prompt), g.tokens);
    if (!settings_.stop_token.empty())
      text.resize(std::min(text.size(), text.find(settings_.stop_token)));
    return text;
  }

  void print(const std::vector<Generated>& all) {
    if (stream_) {
      print_out(begin() + stream_->finish() + "\n");
      return;
    }
    std::string out;
    for (const Generated& g : all)
      out += settings_.json ? json_line(g)
                            : header(g.prompt, g.sequence) +
                                  (model_.tokenizer ? continuation(g)
                                                    : fmt::format("{}", fmt::join(g.tokens, " "))) +
                                  "\n";
    print_out(out);
  }

  std::string json_line(const Generated& g) const {
    OrderedJson line;
    const PromptRow& row = rows_[g.prompt];
    if (row.text)
      line["prompt"] = shown_prompt(g.prompt);
    else
      line["prompt_tokens"] = row.tokens;
    if (model_.tokenizer) line["text"] = (full() ? shown_prompt(g.prompt) : "") + continuation(g);
    line["tokens"] = g.tokens;
    if (beams_) line["score"] = g.score;
    return dump_json(line) + "\n";
  }

  const GenerateSettings& settings_;
  const Pretrained& model_;
  const std::vector<PromptRow>& rows_;
  std::span<const Prompt> prompts_;
  bool beams_, several_, as_script_, begun_ = false;
  std::optional<StreamingDecoder> stream_;
  std::map<size_t, std::vector<Generated>> waiting_;
  size_t next_ = 0, count_ = 0;
};

Result<int> run_generate_command(const std::vector<std::string>& args) {
  return run_generate(args, false);
}

}  // namespace

Result<int> run_generate(const std::vector<std::string>& args, bool as_script) {
  GenerateSettings s;
  Schema schema(as_script ? "hone run_generation" : "hone generate",
                "continue prompts with a language model");
  s.bind(schema);
  if (as_script)
    for (auto [name, value] : {std::pair{"do_sample", "true"},
                               {"top_k", "0"},
                               {"top_p", "0.9"},
                               {"max_new_tokens", "20"},
                               {"temperature", "1.0"},
                               {"add_special_tokens", "false"}})
      schema.preset(name, value);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  if (as_script && schema.given("max_length") && !schema.given("max_new_tokens"))
    s.max_new_tokens.reset();

  OpenOptions open = open_options(s);
  open.need_tokenizer = false;
  open.writes_text = true;
  Pretrained model = HONE_TRY(open_pretrained(s.model_name_or_path, open));
  HONE_TRY(check_adapter(model.config));
  HONE_TRY(check_weights(*model.weights, model.config));
  if (!s.source_lang.empty())
    model.tokenizer =
        HONE_TRY(open_tokenizer(s.tokenizer_name.empty() ? s.model_name_or_path : s.tokenizer_name,
                                open, {false, s.source_lang, s.target_lang}));
  std::vector<PromptRow> rows = HONE_TRY(prompts_of(s, args, as_script));
  for (PromptRow& row : rows)
    if (row.text) row.text = s.prefix + *row.text;
  std::string origin;
  GenerationConfig config = HONE_TRY(generation_from(s, args, model, rows, origin));
  if (model.tokenizer)
    HONE_TRY(apply_target_language(config, {s.forced_bos_token, s.target_lang}, *model.tokenizer,
                                   model.config));
  HONE_TRY(check_generation(config, model.config.vocab));
  const bool texts =
      std::any_of(rows.begin(), rows.end(), [](const PromptRow& r) { return r.text.has_value(); });
  if (texts && !model.tokenizer)
    return std::move(
        open_tokenizer(s.tokenizer_name.empty() ? s.model_name_or_path : s.tokenizer_name, open)
            .error());
  if (texts)
    encode_prompts(rows, *model.tokenizer, {.add_special_tokens = s.add_special_tokens},
                   config.bos_token_id);
  const std::vector<Prompt> prompts = HONE_TRY(generator_prompts(rows, config, model.config));
  HONE_TRY(check_sources(prompts, model.config));
  HONE_TRY(check_prompts(prompts, config, model.config.vocab, model.config.max_positions));
  tell_idle_flags(s, config);
  tell_length(s, config, prompts, model.config.max_positions, origin);

  const auto backend = HONE_TRY(open_device(s.device, {.threads = static_cast<int>(s.threads)}));
  CacheLimits limits = fit_memory(prompts, config, model.config, s.batch_size, backend->spec());
  if (s.load_in_8bit)
    limits.weights = WeightStorage::i8;
  else if (s.dtype == "bfloat16")
    limits.weights = WeightStorage::bf16;
  auto generator = HONE_TRY(Generator::make(model, limits, *backend));
  Printer printer(s, model, rows, prompts, config, as_script);
  const auto start = std::chrono::steady_clock::now();
  HONE_TRY(generator->run(prompts, config, printer.callbacks()));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Batcher::Times& t = generator->times();
  log_info("{} prompt tokens in {:.2f} s, {} new tokens at {:.1f} tokens/s", t.prompt_tokens,
           t.prefill, t.new_tokens, static_cast<double>(t.new_tokens) / std::max(1e-9, seconds));
  return kExitDone;
}

Command command_generate() {
  return {.name = "generate",
          .summary = "continue prompts with a language model",
          .run = run_generate_command};
}

}  // namespace hone
