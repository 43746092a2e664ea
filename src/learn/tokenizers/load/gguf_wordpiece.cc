// The WordPiece vocabularies of GGUF files ("bert"), and back.
#include "base/core/json.h"
#include "learn/tokenizers/load/gguf_vocab.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/load/sentencepiece_model.h"  // types of tokens
#include "learn/tokenizers/stages/wordpiece.h"
#include "learn/tokenizers/text/errors.h"

namespace hone {
namespace {

constexpr std::string_view kBeginsWord = "\xe2\x96\x81", kContinues = "##";

bool is_whole(const GgufVocab& v, size_t id) {
  return id < v.types.size() && (v.types[id] == kControl || v.types[id] == kUnknown);
}

}  // namespace

Result<TokenizerParts> read_gguf_wordpiece(const GgufVocab& vocab) {
  GgufVocab plain = vocab;  // with the texts of vocab.txt
  WordPieceParts model;
  model.vocabulary.reserve(vocab.tokens.size(), vocab.tokens.size() * 8);
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (id < vocab.types.size() && vocab.types[id] == kUnused) continue;
    std::string& text = plain.tokens[id];
    if (!is_whole(vocab, id))
      text = text.starts_with(kBeginsWord) ? text.substr(kBeginsWord.size())
                                           : std::string(kContinues) + text;
    auto added = model.vocabulary.add(text, static_cast<int64_t>(id));
    if (!added.ok()) return std::move(added.error()).at("tokenizer.ggml.tokens");
  }
  TokenizerParts parts;
  parts.kind = "GGUF";
  name_gguf_tokens(plain, parts);
  if (parts.cls.empty()) parts.cls = parts.bos;
  if (parts.sep.empty()) parts.sep = parts.eos;
  parts.bos = parts.eos = "";  // BertTokenizer has neither
  if (!parts.unk.empty()) model.unk_token = parts.unk;
  TokenizerConfig config;
  config.lowercase = vocab.lowercase.value_or(true);
  if (vocab.strip_accents && *vocab.strip_accents != *config.lowercase)
    config.strip_accents = vocab.strip_accents;
  HONE_TRY(make_stages(bert_stages(config), parts));
  parts.model = HONE_TRY(make_wordpiece(std::move(model)));
  add_gguf_tokens(plain, parts);
  HONE_TRY(set_bert_post_processor(parts));
  return parts;
}

Status write_gguf_wordpiece(const Tokenizer& tokenizer, GgufVocab& vocab) {
  const Json stages = HONE_TRY(
      parse_json("{" + tokenizer.parts().stages_json.members() + "}", "tokenizer's stages"));
  const Json& normalizer = stages.at("normalizer");
  const auto type_of = [](const Json& stage) {
    return stage.is_object() ? stage.value("type", "") : std::string("none");
  };
  if (type_of(normalizer) != "BertNormalizer")
    return not_in_gguf(
        fmt::format("llama.cpp has no normalizer {} for WordPiece", type_of(normalizer)));
  for (const char* key : {"clean_text", "handle_chinese_chars"})
    if (!normalizer.value(key, true))
      return not_in_gguf(
          fmt::format("the tokenizer's {} is false, llama.cpp does it for WordPiece", key));
  vocab.lowercase = normalizer.value("lowercase", true);
  const auto strip = normalizer.find("strip_accents");
  vocab.strip_accents =
      strip != normalizer.end() && strip->is_boolean() ? strip->get<bool>() : *vocab.lowercase;
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    std::string& text = vocab.tokens[id];
    if (is_whole(vocab, id)) continue;
    text = text.starts_with(kContinues) ? text.substr(kContinues.size())
                                        : std::string(kBeginsWord) + text;
  }
  const Json model = HONE_TRY(parse_json(tokenizer.parts().model->to_json(), "tokenizer"));
  if (vocab.unk < 0)
    vocab.unk = tokenizer.id_of(model.at("unk_token").get<std::string>()).value_or(-1);
  vocab.pre = "default";
  return Ok{};
}

}  // namespace hone
