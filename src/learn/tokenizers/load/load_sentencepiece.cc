// SentencePiece models (tokenizer.model, spiece.model) of the kinds Unigram and BPE, and what
// surrounds such a vocabulary.
#include <cmath>

#include "base/unicode/base64.h"
#include "base/unicode/unicode.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/load/sentencepiece_parts.h"
#include "learn/tokenizers/load/template_json.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/metaspace.h"

namespace hone {
namespace {

constexpr const char* kModelTypes[] = {"?", "Unigram", "BPE", "WORD", "CHAR"};
constexpr uint64_t kUnigram = 1, kBpe = 2;

Status check_kind(const SentencePieceModel& m) {
  std::string what;
  const bool known = m.model_type == kUnigram || m.model_type == kBpe;
  if (!known)
    what = fmt::format(
        "a SentencePiece model of the type {}",
        m.model_type <= 4 ? kModelTypes[m.model_type] : fmt::format("{}", m.model_type));
  else if (m.model_type == kBpe && !m.charsmap.empty())
    what =
        fmt::format("a SentencePiece BPE model with the normalization \"{}\"", lossy_utf8(m.rule));
  else if (m.space_as_suffix || !m.escape)
    what = fmt::format("a SentencePiece model with {}",
                       m.space_as_suffix ? "treat_whitespace_as_suffix" : "escape_whitespaces off");
  if (what.empty()) return Ok{};
  return Error(err::kTokenizerKind, what)
      .todo(
          "hone reads SentencePiece models of the type Unigram (such as T5, mT5) and of the "
          "type BPE without normalization (such as Llama 1 and 2, Mistral, TinyLlama); if "
          "the model has a tokenizer.json, put it beside");
}

std::string prefixed_decoder(bool strip) {
  return fmt::format(
      R"({{"type":"Sequence","decoders":[{{"type":"Replace","pattern":{{"String":"{0}"}},"content":" "}},)"
      R"({{"type":"ByteFallback"}},{{"type":"Fuse"}}{1}]}})",
      kMetaspace, strip ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "");
}

Result<std::unique_ptr<Model>> bpe_of(const SentencePieceModel& m) {
  BpeParts bpe;
  bpe.byte_level = false;
  bpe.byte_fallback = m.byte_fallback;
  bpe.fuse_unk = true;
  bpe.vocabulary.reserve(m.pieces.size(), m.pieces.size() * 8);
  std::vector<float> scores;
  for (const SentencePiece& p : m.pieces) {
    const size_t id = scores.size();
    HONE_TRY(check_sentencepiece(p, id, bpe.vocabulary));
    HONE_TRY(bpe.vocabulary.add(p.text, static_cast<int64_t>(id)));
    scores.push_back(m.in_texts(p) ? p.score : NAN);
    if (p.type == kUnknown) bpe.unk_token = p.text;
  }
  HONE_TRY(merges_from_scores(scores, bpe));
  return make_bpe(std::move(bpe));
}

// T5 has sentinels after its pieces, the last one first.
Status add_sentinels(const TokenizerConfig& config, UnigramParts& unigram) {
  const int64_t count = config.extra_ids.value_or(100);
  if (count < 0 || count > 1000000)
    return Error(err::kTokenizerFormat, fmt::format("extra_ids is {}", count))
        .at("tokenizer_config.json")
        .todo("T5 has 100 sentinels, mT5 none");
  for (int64_t i = count - 1; i >= 0; --i) {
    const std::string text = fmt::format("<extra_id_{}>", i);
    if (unigram.vocabulary.find(text)) continue;
    const int64_t id = unigram.vocabulary.id_limit();
    HONE_TRY(unigram.vocabulary.add(text, id));
    unigram.pieces.push_back({text, 0, static_cast<int32_t>(id)});
  }
  return Ok{};
}

Result<std::unique_ptr<Model>> unigram_of(const SentencePieceModel& m,
                                          const TokenizerConfig& config) {
  UnigramParts unigram = HONE_TRY(unigram_parts(m));
  if (config.is_t5()) {  // tokenizers' rules: every piece may be in a text, sums are exact
    unigram.single_precision = false;
    unigram.look_up_unknown = true;
    unigram.byte_fallback = false;
    unigram.pieces.clear();
    for (size_t id = 0; id < m.pieces.size(); ++id)
      unigram.pieces.push_back(
          {std::string(m.pieces[id].text), m.pieces[id].score, static_cast<int32_t>(id)});
    HONE_TRY(add_sentinels(config, unigram));
    double lowest = 0;
    for (const UnigramPiece& p : unigram.pieces) lowest = std::min(lowest, p.score);
    unigram.unk_score = lowest - kUnknownPenalty;
  }
  return make_unigram(std::move(unigram));
}

Result<TokenizerParts> read_model(std::string_view bytes, const TokenizerConfig& given) {
  const SentencePieceModel m = HONE_TRY(parse_sentencepiece(bytes));
  HONE_TRY(check_kind(m));
  const bool unigram = m.model_type == kUnigram, t5 = unigram && given.is_t5();
  TokenizerParts parts;
  parts.kind = unigram ? "SentencePiece Unigram" : "SentencePiece BPE";
  TokenizerConfig config = given;
  if (!config.add_bos && !unigram) config.add_bos = true;
  const std::string charsmap = encode_base64(m.charsmap);
  HONE_TRY(make_stages(t5 ? t5_stages(precompiled_json(charsmap))
                       : config.is_llama() && !unigram
                           ? llama_stages(config)
                           : sentencepiece_stages(m.dummy_prefix, m.squeeze, charsmap),
                       parts));
  if (unigram && !t5) parts.normalizer = HONE_TRY(sentencepiece_normalizer(m));
  parts.model = HONE_TRY(unigram ? unigram_of(m, config) : bpe_of(m));
  const auto piece = [&](int32_t id) {
    return id >= 0 && static_cast<size_t>(id) < m.pieces.size()
               ? std::string(m.pieces[static_cast<size_t>(id)].text)
               : std::string();
  };
  parts.bos = piece(m.bos);
  parts.eos = piece(m.eos);
  parts.pad = piece(m.pad);
  for (const SentencePiece& p : m.pieces) {
    if (p.type == kUnknown) parts.unk = p.text;
    if (p.type != kUnknown && p.type != kControl && p.type != kUserDefined) continue;
    if (p.type == kUserDefined && unigram && !t5) continue;  // normalizer and model know it
    AddedToken token;
    token.content = p.text;
    token.special = p.type != kUserDefined;
    parts.added.add(std::move(token), parts.model->vocabulary(), nullptr);
  }
  HONE_TRY(apply_tokenizer_config(config, parts));
  if (!t5) {
    HONE_TRY(apply_bos_eos(config, parts));
    return parts;
  }
  for (int64_t i = 0; i < config.extra_ids.value_or(100); ++i) {
    AddedToken token;
    token.content = fmt::format("<extra_id_{}>", i);
    parts.added.add(std::move(token), parts.model->vocabulary(), nullptr);
  }
  HONE_TRY(set_t5_post_processor(parts));
  return parts;
}

}  // namespace

Result<UnigramParts> unigram_parts(const SentencePieceModel& m) {
  UnigramParts unigram;
  unigram.byte_fallback = m.byte_fallback;
  unigram.single_precision = true;
  unigram.vocabulary.reserve(m.pieces.size(), m.pieces.size() * 8);
  float lowest = HUGE_VALF;
  for (const SentencePiece& p : m.pieces) {
    if (p.type != kNormal) continue;
    lowest = std::min(lowest, p.score);
  }
  for (size_t i = 0; i < m.pieces.size(); ++i) {
    const SentencePiece& p = m.pieces[i];
    HONE_TRY(check_sentencepiece(p, i, unigram.vocabulary));
    const auto id = static_cast<int32_t>(i);
    HONE_TRY(unigram.vocabulary.add(p.text, id));
    if (!std::isfinite(p.score))
      return Error(err::kTokenizerFormat,
                   fmt::format("piece {} (\"{}\") has the score {}", i, p.text, p.score))
          .todo("fetch the file again; it may be damaged");
    if (p.type == kUnknown) unigram.unk_id = id;
    if (!m.in_texts(p) || p.type == kUnused) continue;
    // A user defined piece outbids all others, the longer one the shorter.
    const float score = p.type == kUserDefined
                            ? static_cast<float>(0.1 * static_cast<double>(p.text.size() - 1))
                            : p.score;
    unigram.pieces.push_back({std::string(p.text), score, id});
  }
  if (unigram.unk_id < 0)
    return Error(err::kTokenizerVocabulary, "the SentencePiece model has no unknown piece")
        .todo("fetch the file again; it may be damaged");
  if (!std::isfinite(lowest)) lowest = 0;
  unigram.unk_score = lowest - static_cast<float>(kUnknownPenalty);
  return unigram;
}

Result<std::unique_ptr<Normalizer>> sentencepiece_normalizer(const SentencePieceModel& m) {
  SentencePieceNormalization how;
  how.prefix = m.dummy_prefix;
  how.squeeze = m.squeeze;
  if (!m.charsmap.empty()) how.charsmap = HONE_TRY(Charsmap::parse(m.charsmap));
  for (const SentencePiece& p : m.pieces)
    if (p.type == kUserDefined) how.user_defined.emplace_back(p.text);
  return make_sentencepiece_normalizer(std::move(how));
}

bool is_sentencepiece(std::string_view bytes) {
  return bytes.starts_with('\x0a');  // the first piece
}

Result<TokenizerParts> read_sentencepiece(std::string_view bytes, const std::string& where,
                                          const TokenizerConfig& config) {
  auto parts = config.renumbers() ? read_renumbered(bytes, config) : read_model(bytes, config);
  if (!parts.ok()) return std::move(parts.error()).at(where);
  return parts;
}

StagesJson sentencepiece_stages(bool prefix, bool squeeze, const std::string& charsmap) {
  std::string steps = charsmap.empty() ? "" : precompiled_json(charsmap);
  const auto add = [&](const std::string& step) { steps += (steps.empty() ? "" : ",") + step; };
  const auto replace = [&](std::string_view kind, std::string_view pattern, std::string_view by) {
    add(fmt::format(R"({{"type":"Replace","pattern":{{"{}":"{}"}},"content":"{}"}})", kind, pattern,
                    by));
  };
  if (squeeze) {
    replace("Regex", "^ +| +$", "");
    replace("Regex", " {2,}", " ");
  }
  if (prefix) add(fmt::format(R"({{"type":"Prepend","prepend":"{}"}})", kMetaspace));
  replace("String", " ", kMetaspace);
  StagesJson json;
  json.normalizer = fmt::format(R"({{"type":"Sequence","normalizers":[{}]}})", steps);
  json.decoder = prefixed_decoder(prefix);
  return json;
}

StagesJson llama_stages(const TokenizerConfig& config) {
  const bool prefix = config.add_prefix_space.value_or(true);
  const bool legacy = config.legacy_prefix.value_or(false);
  StagesJson json;
  json.pre_tokenizer = fmt::format(
      R"({{"type":"Metaspace","replacement":"{}","prepend_scheme":"{}","split":false}})",
      kMetaspace,
      !prefix  ? "never"
      : legacy ? "always"
               : "first");
  json.decoder = prefixed_decoder(prefix);
  return json;
}

std::string precompiled_json(const std::string& charsmap) {
  return charsmap.empty()
             ? "null"
             : fmt::format(R"({{"type":"Precompiled","precompiled_charsmap":"{}"}})", charsmap);
}

std::string metaspace_json(bool prefix) {
  return fmt::format(
      R"({{"type":"Metaspace","replacement":"{}","prepend_scheme":"{}","split":true}})", kMetaspace,
      prefix ? "always" : "never");
}

StagesJson t5_stages(std::string precompiled, bool prefix) {
  const std::string metaspace = metaspace_json(prefix);
  StagesJson json;
  json.normalizer = std::move(precompiled);
  json.pre_tokenizer = fmt::format(
      R"({{"type":"Sequence","pretokenizers":[{{"type":"WhitespaceSplit"}},{}]}})", metaspace);
  json.decoder = metaspace;
  return json;
}

Status set_t5_post_processor(TokenizerParts& parts) {
  const AddedToken* eos = parts.added.find(parts.eos);
  const auto id = eos ? std::optional(eos->id) : parts.model->vocabulary().find(parts.eos);
  return replace_post_processor(bos_eos_template("", std::nullopt, parts.eos, id, /*segment=*/0),
                                parts);
}

}  // namespace hone
