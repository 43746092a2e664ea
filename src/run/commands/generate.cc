// hone generate: continues prompts with a causal language model.
#include <iostream>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "engine/backends/backends.h"
#include "learn/generate/cache_budget.h"
#include "learn/generate/printer.h"
#include "learn/pretrained/open.h"
#include "learn/pretrained/stored.h"
#include "learn/pretrained/weights.h"
#include "run/commands/errors.h"
#include "run/commands/generate_flags.h"
#include "run/commands/run_generate.h"

namespace hone {
namespace {

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

// Limits for `batch` prompts together, or for fewer where memory is short: the cache takes at most half of the device's
// memory, and all of the plan what there is.
Result<CacheLimits> fit_memory(std::span<const Prompt> prompts, const GenerationConfig& c,
                               const ModelConfig& model, int64_t batch, WeightStorage weights,
                               const Backend& backend) {
  const int64_t usable = usable_bytes(backend.spec());
  const CacheLimits one = limits_for(prompts, c, model, 1);
  for (int64_t together = batch;; together = (together + 1) / 2) {
    CacheLimits wanted = limits_for(prompts, c, model, together);
    wanted.weights = weights;
    Result<CacheLimits> limits = fit_cache(
        model, wanted, {.arena_bytes = usable, .cache_bytes = usable / 2}, backend, one.rows);
    if (!limits.ok() && together > 1) continue;
    if (limits.ok() && (together < batch || limits->pages() < wanted.pages() ||
                        limits->source_pages() < wanted.source_pages()))
      log_info("memory is short for {} prompts at a time: fewer are worked on together", batch);
    return limits;
  }
}

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

  const auto backend = HONE_TRY(open_device(s.device, {.threads = static_cast<int>(s.threads)}));
  const bool stored = !asked_storage(s) && !backend->spec().own_memory;
  OpenOptions open = open_options(s);
  open.need_tokenizer = false;
  open.writes_text = true;
  if (stored) open.quantization = as_stored();
  Pretrained model = HONE_TRY(open_pretrained(s.model_name_or_path, open));
  HONE_TRY(check_adapter(model.config));
  HONE_TRY(check_weights(*model.weights, model.config));
  if (!s.source_lang.empty())
    model.tokenizer =
        HONE_TRY(open_tokenizer(s.tokenizer_name.empty() ? s.model_name_or_path : s.tokenizer_name,
                                open, {false, s.source_lang, s.target_lang}));
  if (!as_script && !schema.given("prefix")) {
    s.prefix = prompt_prefix(model, {});
    if (!s.prefix.empty())
      log_info("{:<11} prefix '{}' (from {})", "as trained", s.prefix, kTrainedTaskFile);
  }
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
  if (texts && !as_script) tell_chats(model);
  tell_idle_flags(s, config);
  tell_length(s, config, prompts, model.config.max_positions, origin);

  const WeightStorage weights =
      stored ? storage_in_file(*model.weights) : asked_storage(s).value_or(WeightStorage::f32);
  const CacheLimits limits =
      HONE_TRY(fit_memory(prompts, config, model.config, s.batch_size, weights, *backend));
  auto generator = HONE_TRY(Generator::make(model, limits, *backend));
  GenerationPrinter printer({.json = s.json,
                             .full_text = as_script || s.return_full_text,
                             .counts_sequences = as_script,
                             .prefix_bytes = s.prefix.size(),
                             .stop_token = s.stop_token},
                            model, rows, prompts, config, print_out);
  const double start = system_clock().seconds();
  HONE_TRY(generator->run(prompts, config, printer.callbacks()));
  const double seconds = system_clock().seconds() - start;
  const Batcher::Times& t = generator->times();
  log_info("{} prompt tokens in {:.2f} s, {} new tokens at {:.1f} tokens/s", t.prompt_tokens,
           t.prefill, t.new_tokens, static_cast<double>(t.new_tokens) / std::max(1e-9, seconds));
  return kExitDone;
}

Command command_generate() {
  return {.name = "generate",
          .summary = "continue prompts with a language model",
          .in = CommandGroup::kUse,
          .run = run_generate_command};
}

}  // namespace hone
