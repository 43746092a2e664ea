// Transformers 5's classes that give the pieces of a SentencePiece model other ids: fairseq's
// dictionary (XLM-R, mBART: <s> <pad> </s> <unk> first, the pieces from the fourth on after them,
// language codes and <mask> at the end; CamemBERT: five tokens, the pieces from the second on, <mask>)
// and Pegasus (103 tokens of its pre-training in front). ALBERT and DeBERTa keep the ids of the model.
// Reference: Transformers 5, models/{xlm_roberta,mbart,mbart50,pegasus,camembert,albert,deberta_v2}/
// tokenization_*.py and convert_slow_tokenizer.py. Texts are covered as huggingface/tokenizers covers them.
#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "base/unicode/base64.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/load/sentencepiece_model.h"
#include "learn/tokenizers/load/template_json.h"
#include "learn/tokenizers/stages/unigram.h"
#include "learn/tokenizers/text/errors.h"

namespace hone {
namespace {

// mBART's, in the order of their ids; mBART-50 has the rest too.
constexpr const char* kLanguages[] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
    "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
    "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ",
    "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH", "mk_MK", "ml_IN",
    "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN", "te_IN",
    "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};
constexpr size_t kFirstLanguages = 25;

std::span<const char* const> languages(const TokenizerConfig& config) {
  const std::span all(kLanguages);
  return config.tokenizer_class == "MBart50Tokenizer" ? all : all.first(kFirstLanguages);
}

// Reads a named token of the configuration.
std::string named(const TokenizerConfig& config, const char* name, const char* otherwise) {
  const AddedToken* token = config.find(name);
  return token ? token->content : otherwise;
}

class Pieces {
 public:
  Status add(std::string_view text, double score) {
    const int64_t id = parts_.vocabulary.id_limit();
    if (!std::isfinite(score) || parts_.vocabulary.find(text))
      return Error(err::kTokenizerFormat,
                   fmt::format("the piece \"{}\" {}", text,
                               std::isfinite(score) ? "is there twice" : "has no score"))
          .todo("fetch the file again; it may be damaged, or of another tokenizer class");
    HONE_TRY(parts_.vocabulary.add(text, id));
    parts_.pieces.push_back({std::string(text), score, static_cast<int32_t>(id)});
    return Ok{};
  }
  // The pieces of the model after the first `left_out`, which other tokens stand for.
  Status add_model(const SentencePieceModel& m, size_t left_out) {
    for (size_t i = left_out; i < m.pieces.size(); ++i) {
      HONE_TRY(check_sentencepiece(m.pieces[i], i, parts_.vocabulary));
      HONE_TRY(add(m.pieces[i].text, m.pieces[i].score));
    }
    return Ok{};
  }
  Result<std::unique_ptr<Model>> model(const std::string& unknown) && {
    const auto id = parts_.vocabulary.find(unknown);
    if (!id)
      return Error(err::kTokenizerVocabulary,
                   fmt::format("the SentencePiece model has no piece \"{}\"", unknown))
          .todo("take spiece.model and tokenizer_config.json from the same model");
    parts_.unk_id = *id;
    parts_.look_up_unknown = true;
    double lowest = 0;
    for (const UnigramPiece& p : parts_.pieces) lowest = std::min(lowest, p.score);
    parts_.unk_score = lowest - kUnknownPenalty;
    return make_unigram(std::move(parts_));
  }

 private:
  UnigramParts parts_;
};

Result<std::unique_ptr<Model>> fairseq_model(const SentencePieceModel& m,
                                             const TokenizerConfig& config) {
  Pieces pieces;
  const std::string unknown = named(config, "unk_token", "<unk>");
  const bool mbart50 = config.tokenizer_class == "MBart50Tokenizer";
  HONE_TRY(pieces.add(named(config, mbart50 ? "cls_token" : "bos_token", "<s>"), 0));
  HONE_TRY(pieces.add(named(config, "pad_token", "<pad>"), 0));
  HONE_TRY(pieces.add(named(config, "eos_token", "</s>"), 0));
  HONE_TRY(pieces.add(unknown, 0));
  HONE_TRY(pieces.add_model(m, 3));
  if (config.is_mbart())
    for (const char* language : languages(config)) HONE_TRY(pieces.add(language, 0));
  HONE_TRY(pieces.add(named(config, "mask_token", "<mask>"), 0));
  return std::move(pieces).model(unknown);
}

Result<std::unique_ptr<Model>> camembert_model(const SentencePieceModel& m,
                                               const TokenizerConfig& config) {
  Pieces pieces;
  const std::string unknown = named(config, "unk_token", "<unk>");
  HONE_TRY(pieces.add("<s>NOTUSED", 0));
  HONE_TRY(pieces.add(named(config, "pad_token", "<pad>"), 0));
  HONE_TRY(pieces.add("</s>NOTUSED", 0));
  HONE_TRY(pieces.add(unknown, 0));
  HONE_TRY(pieces.add("<unk>NOTUSED", -100));
  HONE_TRY(pieces.add_model(m, 1));
  HONE_TRY(pieces.add(named(config, "mask_token", "<mask>"), 0));
  return std::move(pieces).model(unknown);
}

// ALBERT's and DeBERTa's ids are the model's.
Result<std::unique_ptr<Model>> plain_model(const SentencePieceModel& m) {
  Pieces pieces;
  HONE_TRY(pieces.add_model(m, 0));
  for (const SentencePiece& p : m.pieces)
    if (p.type == kUnknown) return std::move(pieces).model(std::string(p.text));
  return Error(err::kTokenizerVocabulary, "the SentencePiece model has no unknown piece")
      .todo("fetch the file again; it may be damaged");
}

// The tokens of pre-training that precede Pegasus' pieces, without <pad> and </s>.
Result<std::vector<std::string>> pegasus_tokens(const TokenizerConfig& config) {
  const int64_t offset = config.offset.value_or(103);
  if (offset < 2 || offset > 100000)
    return Error(err::kTokenizerFormat, fmt::format("offset is {}", offset))
        .at("tokenizer_config.json")
        .todo("PegasusTokenizer has 103");
  std::vector<std::string> tokens;
  const std::string sentence = config.mask_token_sent.value_or("<mask_1>");
  const std::string mask = named(config, "mask_token", "<mask_2>");
  if (!sentence.empty()) tokens.push_back(sentence);
  if (mask != sentence) tokens.push_back(mask);
  for (int64_t i = 2; i < offset; ++i) tokens.push_back(fmt::format("<unk_{}>", i));
  return tokens;
}

Result<std::unique_ptr<Model>> pegasus_model(const SentencePieceModel& m,
                                             const TokenizerConfig& config) {
  Pieces pieces;
  HONE_TRY(pieces.add(named(config, "pad_token", "<pad>"), 0));
  HONE_TRY(pieces.add(named(config, "eos_token", "</s>"), 0));
  for (const std::string& token : HONE_TRY(pegasus_tokens(config)))
    HONE_TRY(pieces.add(token, token.starts_with("<unk_") ? -100 : 0));
  HONE_TRY(pieces.add_model(m, 2));
  return std::move(pieces).model(named(config, "unk_token", "<unk>"));
}

Result<std::unique_ptr<Model>> model_of(const SentencePieceModel& m,
                                        const TokenizerConfig& config) {
  if (config.tokenizer_class == "CamembertTokenizer") return camembert_model(m, config);
  if (config.is_spm_encoder()) return plain_model(m);
  return config.tokenizer_class == "PegasusTokenizer" ? pegasus_model(m, config)
                                                      : fairseq_model(m, config);
}

// The normalizers and splitters of the classes.
Result<StagesJson> stages(const SentencePieceModel& m, const TokenizerConfig& config) {
  const std::string charsmap = precompiled_json(encode_base64(m.charsmap));
  if (config.is_spm_encoder()) return spm_encoder_stages(config, charsmap);
  if (config.tokenizer_class == "MBartTokenizer") return t5_stages("null");
  if (config.tokenizer_class == "XLMRobertaTokenizer")
    return t5_stages(charsmap, config.add_prefix_space.value_or(true));
  constexpr const char* kSqueeze =
      R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})";
  constexpr const char* kLines = R"({"type":"Replace","pattern":{"Regex":"\n"},"content":" "},)";
  const bool pegasus = !config.is_mbart();
  StagesJson json;
  json.normalizer = fmt::format(
      R"({{"type":"Sequence","normalizers":[{}{}]}})",
      !m.charsmap.empty() ? charsmap + "," : std::string(pegasus ? kLines : ""), kSqueeze);
  json.pre_tokenizer = json.decoder = metaspace_json(true);
  return json;
}

}  // namespace

Status set_mbart_post_processor(const TokenizerConfig& config, TokenizerParts& parts) {
  std::string language = config.source_lang.empty() ? "en_XX" : config.source_lang;
  if (config.targets && !config.target_lang.empty()) language = config.target_lang;
  const auto known = languages(config);
  if (std::find(known.begin(), known.end(), language) == known.end() &&
      !parts.model->vocabulary().find(language))
    return Error(err::kTokenizerVocabulary,
                 fmt::format("the tokenizer has no language \"{}\"", language))
        .todo(fmt::format("languages are {}", fmt::join(known, ", ")));
  PairTemplate t;
  if (config.tokenizer_class == "MBart50Tokenizer") {
    t.before = t.before_one = {language};
    t.after = t.after_one = {parts.eos};
  } else {
    t.after = t.after_one = {parts.eos, language};
  }
  return replace_post_processor(HONE_TRY(pair_template_json(t, parts)), parts);
}

Result<TokenizerParts> read_renumbered(std::string_view bytes, const TokenizerConfig& config) {
  const SentencePieceModel m = HONE_TRY(parse_sentencepiece(bytes));
  if (m.model_type != 1)
    return Error(err::kTokenizerKind,
                 fmt::format("{} with a SentencePiece model that is not a Unigram model",
                             config.tokenizer_class))
        .todo("take a checkpoint with tokenizer.json");
  const bool pegasus = config.tokenizer_class == "PegasusTokenizer";
  TokenizerParts parts;
  parts.kind = "SentencePiece Unigram";
  HONE_TRY(make_stages(HONE_TRY(stages(m, config)), parts));
  parts.model = HONE_TRY(model_of(m, config));
  std::vector<std::string> special;
  if (pegasus) special = HONE_TRY(pegasus_tokens(config));
  if (config.is_mbart()) special.assign(languages(config).begin(), languages(config).end());
  HONE_TRY(apply_tokenizer_config(config, parts));
  for (std::string& content : special) {
    AddedToken token;
    token.content = std::move(content);
    parts.added.add(std::move(token), parts.model->vocabulary(), nullptr);
  }
  for (const SentencePiece& p : m.pieces) {
    if (p.type != kControl && p.type != kUserDefined) continue;
    AddedToken token;
    token.content = p.text;
    token.special = p.type == kControl;
    if (parts.model->vocabulary().find(p.text))
      parts.added.add(std::move(token), parts.model->vocabulary(), nullptr);
  }
  if (config.is_mbart() || config.is_spm_encoder()) {
    HONE_TRY(config.is_mbart() ? set_mbart_post_processor(config, parts)
                               : set_spm_encoder_post_processor(config, parts));
    return parts;
  }
  PairTemplate t;
  t.after = t.after_one = {parts.eos};
  if (!pegasus) {
    t.before = t.before_one = {parts.bos};
    t.between = {parts.eos, parts.eos};
  }
  HONE_TRY(replace_post_processor(HONE_TRY(pair_template_json(t, parts)), parts));
  return parts;
}

}  // namespace hone
