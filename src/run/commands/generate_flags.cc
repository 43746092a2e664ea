#include "run/commands/generate_flags.h"

#include <charconv>

#include "base/core/log.h"
#include "base/core/text.h"
#include "learn/generate/errors.h"
#include "learn/generate/prompts.h"

namespace hone {
namespace {

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

}  // namespace

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

void tell_chats(const Pretrained& model) {
  if (knows_chats(model))
    log_info(
        "{:<11} continued as it is, without the chat template; hone serve has the template, in "
        "/v1/chat/completions",
        "prompt");
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

}  // namespace hone
