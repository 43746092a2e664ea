// tokenizer.json to the stages that it names.
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/scanners.h"

namespace hone {
namespace {

Status make_stages_of(const JsonAt& root, StageContext context, TokenizerParts& parts) {
  if (const auto spec = root.find("normalizer"))
    parts.normalizer = HONE_TRY(make_normalizer(*spec, context));
  if (const auto spec = root.find("pre_tokenizer"))
    parts.pre_tokenizer = HONE_TRY(make_pre_tokenizer(*spec, context));
  context.byte_level = parts.pre_tokenizer && parts.pre_tokenizer->byte_level();
  if (const auto spec = root.find("post_processor"))
    parts.post_processor = HONE_TRY(make_post_processor(*spec, context));
  if (const auto spec = root.find("decoder"))
    parts.decoder = HONE_TRY(make_decoder(*spec, context));
  const std::pair<const char*, std::string*> members[] = {
      {"normalizer", &parts.stages_json.normalizer},
      {"pre_tokenizer", &parts.stages_json.pre_tokenizer},
      {"post_processor", &parts.stages_json.post_processor},
      {"decoder", &parts.stages_json.decoder}};
  for (const auto& [name, json] : members)
    if (const auto spec = root.find(name)) *json = std::string(simdjson::minify(spec->value));
  return Ok{};
}

// The normalizer "Precompiled", alone or in a sequence.
std::string find_precompiled(const JsonAt& root) {
  const auto is = [](JsonElement e) {
    std::string_view type;
    return !e["type"].get(type) && type == "Precompiled";
  };
  const auto normalizer = root.find("normalizer");
  if (!normalizer) return "null";
  if (is(normalizer->value)) return simdjson::minify(normalizer->value);
  simdjson::dom::array steps;
  if (!normalizer->value["normalizers"].get(steps))
    for (const JsonElement step : steps)
      if (is(step)) return simdjson::minify(step);
  return "null";
}

}  // namespace

Result<TokenizerParts> read_tokenizer_json(std::string_view text, const std::string& where,
                                           const TokenizerConfig& config) {
  const JsonDocument document = HONE_TRY(JsonDocument::parse(text, where));
  const JsonAt root{document.root(), where + ":"};
  HONE_TRY(root.object());
  TokenizerParts parts;
  parts.kind = "tokenizer.json";
  StageContext context;
  if (config.is_roberta() || config.tokenizer_class == "GPT2Tokenizer" ||
      config.tokenizer_class == "Qwen2Tokenizer")
    context.add_prefix_space = config.add_prefix_space;
  HONE_TRY(make_stages_of(root, context, parts));
  context.byte_level = parts.pre_tokenizer && parts.pre_tokenizer->byte_level();
  const JsonAt model = HONE_TRY(root.get("model"));
  parts.model = HONE_TRY(make_model(model, context));
  const bool is_wordpiece = model.find("continuing_subword_prefix").has_value();
  if (config.is_llama() && !parts.model->byte_level()) {
    StagesJson json = llama_stages(config);
    json.post_processor = parts.stages_json.post_processor;
    HONE_TRY(make_stages(std::move(json), parts));
  }
  if ((config.is_bert() || config.is_mpnet()) && is_wordpiece) {
    StagesJson json = bert_stages(config);
    json.post_processor = parts.stages_json.post_processor;
    HONE_TRY(make_stages(std::move(json), parts));
  }
  if (config.is_t5() && model.find("unk_id")) {
    StagesJson json = t5_stages(find_precompiled(root));
    json.post_processor = parts.stages_json.post_processor;
    HONE_TRY(make_stages(std::move(json), parts));
  }
  if (config.is_spm_encoder() && model.find("unk_id")) {
    StagesJson json = HONE_TRY(spm_encoder_stages(config, find_precompiled(root)));
    json.post_processor = parts.stages_json.post_processor;
    HONE_TRY(make_stages(std::move(json), parts));
  }
  if (const auto list = root.find("added_tokens")) {
    size_t index = 0;
    for (const JsonElement item : HONE_TRY(list->array()))
      parts.added.add(HONE_TRY(read_added_token(list->item(item, index++), false)),
                      parts.model->vocabulary(), parts.normalizer.get());
  }
  if (const auto truncation = root.find("truncation"))
    if (const auto side = truncation->find("direction"))
      parts.truncates_left = HONE_TRY(side->string()) == "Left";
  return parts;
}

Status make_stages(StagesJson json, TokenizerParts& parts) {
  const JsonDocument document =
      HONE_TRY(JsonDocument::parse("{" + json.members() + "}", "tokenizer"));
  parts.normalizer.reset();
  parts.pre_tokenizer.reset();
  parts.post_processor.reset();
  parts.decoder.reset();
  parts.stages_json = {};
  return make_stages_of({document.root(), "tokenizer:"}, StageContext{}, parts);
}

Status replace_post_processor(const std::string& json, TokenizerParts& parts) {
  const JsonDocument document = HONE_TRY(JsonDocument::parse(json, "post_processor"));
  parts.post_processor =
      HONE_TRY(make_post_processor({document.root(), "post_processor:"}, StageContext{}));
  parts.stages_json.post_processor = json;
  return Ok{};
}

std::string byte_level_json(bool add_prefix_space, bool use_regex) {
  return fmt::format(
      R"({{"type":"ByteLevel","add_prefix_space":{},"trim_offsets":true,"use_regex":{}}})",
      add_prefix_space, use_regex);
}

std::string split_then_bytes_json(std::string_view pattern, bool add_prefix_space) {
  return fmt::format(
      R"({{"type":"Sequence","pretokenizers":[{{"type":"Split","pattern":{{"Regex":{}}},)"
      R"("behavior":"Isolated","invert":false}},{}]}})",
      json_quote(pattern), byte_level_json(add_prefix_space, false));
}

StagesJson byte_level_stages(std::string normalizer, std::string pre_tokenizer,
                             std::string post_processor) {
  return {.normalizer = std::move(normalizer),
          .pre_tokenizer = std::move(pre_tokenizer),
          .post_processor = std::move(post_processor),
          .decoder = byte_level_json(true, true)};
}

}  // namespace hone
