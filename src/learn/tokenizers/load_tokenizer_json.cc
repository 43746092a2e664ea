#include "learn/tokenizers/errors.h"
#include "learn/tokenizers/loaders.h"
#include "learn/tokenizers/scanners.h"

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
  for (const char* name : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    const auto spec = root.find(name);
    parts.stages_json += fmt::format("{}\"{}\":{}", parts.stages_json.empty() ? "" : ",\n", name,
                                     spec ? std::string(simdjson::minify(spec->value)) : "null");
  }
  return Ok{};
}

}  // namespace

Result<TokenizerParts> read_tokenizer_json(std::string_view text, const std::string& where,
                                           std::optional<bool> add_prefix_space) {
  const JsonDocument document = HONE_TRY(JsonDocument::parse(text, where));
  const JsonAt root{document.root(), where + ":"};
  HONE_TRY(root.object());
  TokenizerParts parts;
  parts.kind = "tokenizer.json";
  StageContext context;
  context.add_prefix_space = add_prefix_space;
  HONE_TRY(make_stages_of(root, context, parts));
  context.byte_level = parts.pre_tokenizer && parts.pre_tokenizer->byte_level();
  parts.model = HONE_TRY(make_model(HONE_TRY(root.get("model")), context));
  if (const auto list = root.find("added_tokens")) {
    size_t index = 0;
    for (const JsonElement item : HONE_TRY(list->array()))
      parts.added.add(HONE_TRY(read_added_token(list->item(item, index++), false)),
                      parts.model->vocabulary(), parts.normalizer.get());
  }
  return parts;
}

Status make_stages(std::string members, TokenizerParts& parts) {
  const JsonDocument document = HONE_TRY(JsonDocument::parse("{" + members + "}", "tokenizer"));
  return make_stages_of({document.root(), "tokenizer:"}, StageContext{}, parts);
}

Status replace_post_processor(const std::string& json, TokenizerParts& parts) {
  const JsonDocument document = HONE_TRY(JsonDocument::parse(json, "post_processor"));
  parts.post_processor =
      HONE_TRY(make_post_processor({document.root(), "post_processor:"}, StageContext{}));
  const size_t at = parts.stages_json.find("\n\"post_processor\":");
  const size_t end = parts.stages_json.find(",\n\"decoder\":");
  HONE_BUG_IF(at == std::string::npos || end == std::string::npos, "stages_json: {}",
              parts.stages_json);
  parts.stages_json.replace(at, end - at, "\n\"post_processor\":" + json);
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

std::string stage_members(std::string_view normalizer, std::string_view pre_tokenizer,
                          std::string_view post_processor) {
  return fmt::format(
      "\"normalizer\":{},\n\"pre_tokenizer\":{},\n\"post_processor\":{},\n\"decoder\":{}",
      normalizer, pre_tokenizer, post_processor, byte_level_json(true, true));
}

std::string bos_eos_template(const std::string& bos, std::optional<int32_t> bos_id,
                             const std::string& eos, std::optional<int32_t> eos_id) {
  if (!bos_id && !eos_id) return byte_level_json(true, true);
  const auto token = [](const std::string& text, int segment) {
    return fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", json_quote(text), segment);
  };
  const auto sequence = [&](char name, int segment) {
    std::string s = bos_id ? token(bos, segment) + "," : "";
    s += fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", name, segment);
    return eos_id ? s + "," + token(eos, segment) : s;
  };
  const auto entry = [](const std::string& text, int32_t id) {
    const std::string quoted = json_quote(text);
    return fmt::format(R"({0}:{{"id":{0},"ids":[{1}],"tokens":[{0}]}})", quoted, id);
  };
  std::string specials = bos_id ? entry(bos, *bos_id) : "";
  if (eos_id && (!bos_id || bos != eos)) specials += (bos_id ? "," : "") + entry(eos, *eos_id);
  return fmt::format(
      R"({{"type":"TemplateProcessing","single":[{0}],"pair":[{0},{1}],"special_tokens":{{{2}}}}})",
      sequence('A', 0), sequence('B', 1), specials);
}

}  // namespace hone
