// ByT5Tokenizer, which has no vocabulary file: pad, eos and unk, then the 256 bytes, then sentinels.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

struct NamedToken {
  const char *name, *usual;
};
constexpr NamedToken kBeforeBytes[] = {
    {"pad_token", "<pad>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}};  // ids 0, 1 and 2
constexpr int32_t kEosId = 1;
constexpr int64_t kUsualSentinels = 125, kMostSentinels = 100000;

AddedToken token_of(const TokenizerConfig& config, const NamedToken& named) {
  if (const AddedToken* given = config.find(named.name)) return *given;
  AddedToken token;
  token.content = named.usual;
  token.lstrip = token.rstrip = true;
  return token;
}

std::string end_template(const std::string& eos) {
  const auto part = [&](const char* id) {
    return fmt::format(R"({{"Sequence":{{"id":"{}","type_id":0}}}},)"
                       R"({{"SpecialToken":{{"id":{},"type_id":0}}}})",
                       id, json_quote(eos));
  };
  return fmt::format(R"({{"type":"TemplateProcessing","single":[{0}],"pair":[{0},{1}],)"
                     R"("special_tokens":{{{2}:{{"id":{2},"ids":[{3}],"tokens":[{2}]}}}}}})",
                     part("A"), part("B"), json_quote(eos), kEosId);
}

}  // namespace

Status set_bytes_post_processor(TokenizerParts& parts) {
  return replace_post_processor(end_template(parts.eos), parts);
}

Result<TokenizerParts> read_bytes_tokenizer(const TokenizerConfig& config) {
  const int64_t sentinels = config.extra_ids.value_or(kUsualSentinels);
  if (sentinels < 0 || sentinels > kMostSentinels)
    return Error(err::kTokenizerFormat, fmt::format("extra_ids is {}", sentinels))
        .at("tokenizer_config.json")
        .todo("give the number of sentinels, such as 125");
  BpeParts bpe;
  int64_t id = 0;
  for (const NamedToken& named : kBeforeBytes)
    HONE_TRY(bpe.vocabulary.add(token_of(config, named).content, id++));
  for (int byte = 0; byte < 256; ++byte) {
    const char one = static_cast<char>(byte);
    std::string letter;
    append_byte_level({&one, 1}, letter);
    HONE_TRY(bpe.vocabulary.add(letter, id++));
  }
  TokenizerParts parts;
  parts.kind = "bytes";
  const std::string bytes = byte_level_json(false, false);
  HONE_TRY(make_stages(byte_level_stages("null", bytes, "null"), parts));
  parts.model = HONE_TRY(make_bpe(std::move(bpe)));
  if (!config.lists_tokens)
    for (const NamedToken& named : kBeforeBytes)
      parts.added.add(token_of(config, named), parts.model->vocabulary(), nullptr);
  for (int64_t i = 0; i < sentinels; ++i) {
    AddedToken token;
    token.content = fmt::format("<extra_id_{}>", i);
    parts.added.add(std::move(token), parts.model->vocabulary(), nullptr);
  }
  HONE_TRY(apply_tokenizer_config(config, parts));
  HONE_TRY(set_bytes_post_processor(parts));
  return parts;
}

}  // namespace hone
