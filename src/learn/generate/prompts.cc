#include "learn/generate/prompts.h"

#include <algorithm>

#include "base/core/json.h"
#include "base/core/text.h"
#include "learn/generate/errors.h"

namespace hone {
namespace {

Result<PromptRow> prompt_row(const Json& json, const std::string& place) {
  auto wrong = [&](const std::string& what) {
    return Error(err::kBadPrompt, what)
        .at(place)
        .todo("write rows as {\"prompt\": \"...\"} or {\"prompt_tokens\": [1, 2, 3]}");
  };
  if (!json.is_object()) return wrong("the row is not a JSON object");
  PromptRow row;
  if (auto ids = json.find("prompt_tokens"); ids != json.end()) {
    if (!ids->is_array()) return wrong("prompt_tokens is not a list");
    for (const Json& id : *ids) {
      if (!id.is_number_integer() || id < 0 || id > INT32_MAX)
        return wrong(fmt::format("prompt_tokens holds {}, which is not a token id", dump_json(id)));
      row.tokens.push_back(id.get<int32_t>());
    }
    return row;
  }
  auto text = json.find("prompt");
  if (text == json.end() || !text->is_string()) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    return wrong(text != json.end()
                     ? std::string("prompt is not a text")
                     : fmt::format("the row has neither prompt nor prompt_tokens; its keys are: {}",
                                   join(keys, ", ")));
  }
  row.text = text->get<std::string>();
  return row;
}

}  // namespace

Result<std::vector<PromptRow>> read_prompt_file(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  const std::string all = HONE_TRY(read_file(path == "-" ? "/dev/stdin" : path));
  std::vector<PromptRow> rows;
  int64_t number = 0;
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view line = std::string_view(all).substr(at, end - at);
    at = end + 1;
    ++number;
    if (trim(line).empty()) continue;
    const std::string place = fmt::format("{}:{}", name, number);
    rows.push_back(HONE_TRY(prompt_row(HONE_TRY(parse_json(line, place)), place)));
  }
  if (rows.empty())
    return Error(err::kBadPrompt, fmt::format("{} holds no prompts", name))
        .todo("write one JSON object a line: {\"prompt\": \"...\"}");
  return rows;
}

void encode_prompts(std::vector<PromptRow>& rows, const Tokenizer& tokenizer,
                    const EncodeOptions& options, std::optional<int32_t> begin) {
  for (PromptRow& row : rows) {
    if (row.text) row.tokens = tokenizer.encode(*row.text, options);
    if (row.text && row.tokens.empty() && begin) row.tokens = {*begin};
  }
}

Result<std::vector<Prompt>> generator_prompts(const std::vector<PromptRow>& rows,
                                              const GenerationConfig& config,
                                              const ModelConfig& model) {
  std::vector<Prompt> prompts;
  if (!family_of(model).encoder) {
    for (const PromptRow& row : rows) prompts.push_back({row.tokens, {}});
    return prompts;
  }
  std::optional<int32_t> start = config.decoder_start_token_id;
  if (!start && model.decoder_start >= 0) start = static_cast<int32_t>(model.decoder_start);
  if (!start) start = config.bos_token_id;
  if (!start)
    return Error(err::kBadGeneration, "no file or flag gives the decoder's start token")
        .at("generation_config.json")
        .todo(
            "name the target language by --target_lang, or write decoder_start_token_id, such as "
            "that language's code, there");
  for (const PromptRow& row : rows) prompts.push_back({{*start}, row.tokens});
  return prompts;
}

Result<nlohmann::json> apply_target_language(GenerationConfig& c, const TargetLanguage& wanted,
                                             const Tokenizer& tokenizer, const ModelConfig& model) {
  nlohmann::json set = nlohmann::json::object();
  const auto token = [&](const std::string& text, const char* flag) -> Result<int32_t> {
    const auto id = tokenizer.id_of(text);
    if (!id)
      return Error(err::kBadGeneration, fmt::format("the tokenizer has no token '{}'", text))
          .at(flag)
          .todo("name a token of the vocabulary, such as a language's code: de_DE");
    return *id;
  };
  if (!wanted.forced_bos_token.empty())
    set["forced_bos_token_id"] = HONE_TRY(token(wanted.forced_bos_token, "--forced_bos_token"));
  if (!wanted.target_lang.empty() && model.decoder_start < 0 && !c.decoder_start_token_id)
    set["decoder_start_token_id"] = HONE_TRY(token(wanted.target_lang, "the target language"));
  HONE_TRY(apply_generation_json(c, set, "the flags"));
  return set;
}

std::string continuation_text(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                              std::span<const int32_t> tokens) {
  // Decoders treat the first token of a text apart; the prompt's tail keeps the new ones from being
  // it.
  StreamingDecoder decoder(tokenizer);
  for (int32_t id : prompt.last(std::min<size_t>(prompt.size(), 8))) decoder.push(id);
  std::string text;
  for (int32_t id : tokens) text += decoder.push(id);
  return text + decoder.finish();
}

Result<GenerationConfig> generation_of(const Pretrained& model) {
  GenerationConfig c;
  if (!model.generation_config.empty()) {
    HONE_TRY(apply_generation_json(c, model.generation_config,
                                   "generation_config.json of " + model.name));
    return c;
  }
  nlohmann::json ids = nlohmann::json::object();
  std::vector<std::string> keys{"eos_token_id", "bos_token_id", "pad_token_id"};
  if (family_of(model.config).encoder) keys = generation_keys();
  for (const std::string& key : keys)
    if (auto it = model.config.config.find(key); it != model.config.config.end()) ids[key] = *it;
  HONE_TRY(apply_generation_json(c, ids, "config.json of " + model.name));
  return c;
}

Result<std::string> apply_task_params(GenerationConfig& c, const Pretrained& model,
                                      std::span<const PromptRow> rows) {
  const auto tasks = model.config.config.find("task_specific_params");
  if (c.has_length() || tasks == model.config.config.end() || !tasks->is_object())
    return std::string();
  std::string chosen;
  for (const auto& [name, params] : tasks->items()) {
    if (!params.is_object()) continue;
    const auto prefix = params.find("prefix");
    const bool begins = prefix != params.end() && prefix->is_string() && !rows.empty() &&
                        std::all_of(rows.begin(), rows.end(), [&](const PromptRow& row) {
                          return row.text && row.text->starts_with(prefix->get<std::string>());
                        });
    if (begins || tasks->size() == 1) chosen = name;
  }
  if (chosen.empty()) return chosen;
  nlohmann::json open = nlohmann::json::object();
  const std::vector<std::string> known = generation_keys();
  for (const auto& [key, value] : (*tasks)[chosen].items())
    if (!model.generation_config.contains(key) &&
        std::find(known.begin(), known.end(), key) != known.end())
      open[key] = value;
  HONE_TRY(apply_generation_json(
      c, open, fmt::format("task_specific_params.{} in config.json of {}", chosen, model.name)));
  return chosen;
}

std::string prompt_prefix(const Pretrained& model, const std::optional<std::string>& given) {
  return given ? *given : model.trained.text("source_prefix");
}

bool knows_chats(const Pretrained& model) {
  if (model.config.head != Head::causal_lm || !model.tokenizer) return false;
  const TrainedTask& t = model.trained;
  const bool by_chats = t.task.empty() || t.task == "sft" || t.task == "dpo" || t.task == "kto";
  return by_chats && t.columns.empty() && !model.tokenizer->chat_template().empty();
}

}  // namespace hone
