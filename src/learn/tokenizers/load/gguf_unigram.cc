// The Unigram vocabularies of GGUF files ("t5"), and back.
#include <algorithm>

#include "base/core/json.h"
#include "base/unicode/base64.h"
#include "learn/tokenizers/load/gguf_vocab.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/load/sentencepiece_model.h"  // types of tokens
#include "learn/tokenizers/stages/unigram.h"
#include "learn/tokenizers/text/errors.h"

namespace hone {
namespace {

// The first object of the type in a stage, or null.
const Json* find_stage(const Json& stage, const char* type) {
  if (stage.is_object() && stage.value("type", "") == type) return &stage;
  if (!stage.is_structured()) return nullptr;
  for (const Json& part : stage)
    if (const Json* found = find_stage(part, type)) return found;
  return nullptr;
}

}  // namespace

Result<TokenizerParts> read_gguf_unigram(const GgufVocab& vocab) {
  if (vocab.scores.size() != vocab.tokens.size())
    return Error(err::kTokenizerFormat,
                 fmt::format("{} scores for {} tokens", vocab.scores.size(), vocab.tokens.size()))
        .at("tokenizer.ggml.scores")
        .todo("convert the model again; its vocabulary is damaged");
  if (vocab.unk < 0 || vocab.unk >= static_cast<int64_t>(vocab.tokens.size()))
    return Error(err::kTokenizerVocabulary, "a Unigram vocabulary needs an unknown token")
        .at("tokenizer.ggml.unknown_token_id")
        .todo("convert the model again");
  UnigramParts model;
  model.vocabulary.reserve(vocab.tokens.size(), vocab.tokens.size() * 8);
  double lowest = 0;
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    const int32_t type = id < vocab.types.size() ? vocab.types[id] : int32_t{kNormal};
    if (type == kUnused) continue;
    if (type == kByte) model.byte_fallback = true;
    auto added = model.vocabulary.add(vocab.tokens[id], static_cast<int64_t>(id));
    if (!added.ok()) return std::move(added.error()).at("tokenizer.ggml.tokens");
    const auto score = static_cast<double>(vocab.scores[id]);
    lowest = std::min(lowest, score);
    model.pieces.push_back({vocab.tokens[id], score, static_cast<int32_t>(id)});
  }
  model.unk_id = static_cast<int32_t>(vocab.unk);
  model.unk_score = lowest - kUnknownPenalty;
  model.look_up_unknown = true;
  TokenizerParts parts;
  parts.kind = "GGUF";
  name_gguf_tokens(vocab, parts);
  HONE_TRY(make_stages(t5_stages(precompiled_json(encode_base64(vocab.charsmap)),
                                 vocab.add_space_prefix.value_or(true)),
                       parts));
  parts.model = make_unigram(std::move(model));
  add_gguf_tokens(vocab, parts);
  if (vocab.add_eos.value_or(true))
    HONE_TRY(set_encoder_post_processor(vocab, vocab.add_bos.value_or(false), parts));
  return parts;
}

Status write_gguf_unigram(const Tokenizer& tokenizer, GgufVocab& vocab) {
  const Json model = HONE_TRY(parse_json(tokenizer.parts().model->to_json(), "tokenizer"));
  const Json stages = HONE_TRY(
      parse_json("{" + tokenizer.parts().stages_json.members() + "}", "tokenizer's stages"));
  if (model.at("unk_id").is_null()) return not_in_gguf("the tokenizer has no unknown token");
  if (model.at("byte_fallback").get<bool>())
    return not_in_gguf("llama.cpp has no bytes of unknown characters for Unigram");
  vocab.unk = model.at("unk_id").get<int64_t>();
  const Json& pieces = model.at("vocab");
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    const bool piece = id < pieces.size() && vocab.types[id] != kUnused;
    vocab.scores.push_back(piece                        ? pieces[id][1].get<float>()
                           : vocab.types[id] == kUnused ? -10000
                                                        : 0);
    if (static_cast<int64_t>(id) == vocab.unk) vocab.types[id] = kUnknown;
  }
  if (const Json* map = find_stage(stages.at("normalizer"), "Precompiled"))
    decode_base64(map->at("precompiled_charsmap").get<std::string>(), vocab.charsmap);
  const Json* space = find_stage(stages.at("pre_tokenizer"), "Metaspace");
  if (space == nullptr) return not_in_gguf("the tokenizer has no Metaspace for its Unigram");
  vocab.add_space_prefix = space->value("prepend_scheme", "always") != "never";
  vocab.pre = "default";
  return Ok{};
}

}  // namespace hone
