// The vocabularies of GGUF files: byte-level ones, where "pre" names the splitting pattern, and
// SentencePiece's, where scores order the merges.
// Reference: llama.cpp's names of pre-tokenizers; the pipelines are those of the models'
// tokenizer.json files.
#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "learn/tokenizers/load/gguf_vocab.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/load/sentencepiece_model.h"  // types of tokens
#include "learn/tokenizers/load/template_json.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/scanners.h"

namespace hone {
namespace {

enum class Splitting { kGpt2, kDigitsGpt2, kCl100k, kQwen2 };
struct Pre {
  std::string_view name;
  Splitting splitting;
  bool ignore_merges, nfc, bos_by_default;
};
constexpr Pre kPres[] = {
    {"gpt-2", Splitting::kGpt2, false, false, false},
    {"gpt2", Splitting::kGpt2, false, false, false},
    {"phi-2", Splitting::kGpt2, false, false, false},
    {"mpt", Splitting::kGpt2, false, false, false},
    {"olmo", Splitting::kGpt2, false, false, false},
    {"roberta-bpe", Splitting::kGpt2, false, false, false},
    {"modern-bert", Splitting::kGpt2, false, true, false},
    {"smollm", Splitting::kDigitsGpt2, false, false, false},
    {"starcoder", Splitting::kDigitsGpt2, false, false, false},
    {"refact", Splitting::kDigitsGpt2, false, false, false},
    {"codeshell", Splitting::kDigitsGpt2, false, false, false},
    {"llama-bpe", Splitting::kCl100k, true, false, true},
    {"llama3", Splitting::kCl100k, true, false, true},
    {"llama-v3", Splitting::kCl100k, true, false, true},
    {"qwen2", Splitting::kQwen2, false, true, false},
    {"deepseek-r1-qwen", Splitting::kQwen2, false, true, false},
};

std::string pre_tokenizer_json(Splitting splitting) {
  switch (splitting) {
    case Splitting::kGpt2:
      return byte_level_json(false, true);
    case Splitting::kDigitsGpt2:
      return fmt::format(
          R"({{"type":"Sequence","pretokenizers":[{{"type":"Digits","individual_digits":true}},{}]}})",
          byte_level_json(false, true));
    case Splitting::kCl100k:
      return split_then_bytes_json(kCl100kPattern, false);
    case Splitting::kQwen2:
      return split_then_bytes_json(kQwen2Pattern, false);
  }
  return "null";
}

Result<Pre> find_pre(const GgufVocab& vocab) {
  std::vector<std::string> names;
  for (const Pre& pre : kPres) {
    if (vocab.pre == pre.name) return pre;
    names.emplace_back(pre.name);
  }
  const std::string nearest = nearest_name(vocab.pre, names);
  return Error(err::kTokenizerStage, fmt::format("unknown pre-tokenizer \"{}\"", vocab.pre))
      .at("tokenizer.ggml.pre")
      .todo(fmt::format("hone knows {}{}; or give a folder with tokenizer.json by --tokenizer_name",
                        join(names, ", "),
                        nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest)));
}

Status read_gguf_merges(const GgufVocab& vocab, BpeParts& bpe) {
  bpe.merges.reserve(vocab.merges.size());
  for (size_t i = 0; i < vocab.merges.size(); ++i) {
    const std::string_view line = vocab.merges[i];
    const std::string where = fmt::format("tokenizer.ggml.merges[{}]", i);
    const size_t space = line.find(' ');
    if (space == line.npos)
      return Error(err::kTokenizerFormat,
                   fmt::format("expected two tokens with a space between, found \"{}\"", line))
          .at(where)
          .todo("convert the model again; its merges are damaged");
    bpe.merges.push_back(HONE_TRY(
        resolve_merge(bpe.vocabulary, line.substr(0, space), line.substr(space + 1), where)));
  }
  return Ok{};
}

Status read_scores(const GgufVocab& vocab, BpeParts& bpe) {
  if (vocab.scores.size() != vocab.tokens.size())
    return Error(err::kTokenizerFormat,
                 fmt::format("{} scores for {} tokens", vocab.scores.size(), vocab.tokens.size()))
        .at("tokenizer.ggml.scores")
        .todo("convert the model again; its vocabulary is damaged");
  std::vector<float> scores = vocab.scores;
  for (size_t id = 0; id < std::min(vocab.types.size(), scores.size()); ++id) {
    const int32_t type = vocab.types[id];
    if (type == kUnknown || type == kControl || type == kByte) scores[id] = NAN;
    if (type == kByte) bpe.byte_fallback = true;
  }
  bpe.byte_level = false;
  bpe.fuse_unk = true;
  return merges_from_scores(scores, bpe);
}

// SentencePiece's BPE with its merges.
Status read_ranked(const GgufVocab& vocab, BpeParts& bpe) {
  bpe.byte_fallback = std::ranges::count(vocab.types, kByte) > 0;
  bpe.byte_level = false;
  bpe.fuse_unk = true;
  return read_gguf_merges(vocab, bpe);
}

// Byte-level BPE ("gpt2") or SentencePiece's.
Result<TokenizerParts> read_gguf_bpe(const GgufVocab& vocab) {
  const bool ranked = vocab.model == kRankedBpe,
             sentencepiece = vocab.model == kScoredBpe || ranked;
  constexpr Pre kLlama = {"", Splitting::kGpt2, false, false, true};  // only bos counts
  const Pre pre = sentencepiece ? kLlama : HONE_TRY(find_pre(vocab));
  BpeParts bpe;
  bpe.ignore_merges = pre.ignore_merges;
  bpe.vocabulary.reserve(vocab.tokens.size(), vocab.tokens.size() * 8);
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    auto added = bpe.vocabulary.add(vocab.tokens[id], static_cast<int64_t>(id));
    if (!added.ok()) return std::move(added.error()).at("tokenizer.ggml.tokens");
  }
  HONE_TRY(ranked          ? read_ranked(vocab, bpe)
           : sentencepiece ? read_scores(vocab, bpe)
                           : read_gguf_merges(vocab, bpe));
  const auto ask = [&](const std::optional<bool>& flag, bool fallback, int64_t id) {
    const bool given = id >= 0 && id < static_cast<int64_t>(vocab.tokens.size());
    return flag.value_or(fallback) && given ? std::optional(static_cast<int32_t>(id))
                                            : std::nullopt;
  };
  TokenizerParts parts;
  parts.kind = "GGUF";
  name_gguf_tokens(vocab, parts);
  if (sentencepiece) bpe.unk_token = parts.unk;
  StagesJson stages = sentencepiece
                          ? sentencepiece_stages(vocab.add_space_prefix.value_or(!ranked), false)
                          : byte_level_stages(pre.nfc ? R"({"type":"NFC"})" : "null",
                                              pre_tokenizer_json(pre.splitting), "null");
  const auto bos = ask(vocab.add_bos, pre.bos_by_default, vocab.bos),
             eos = ask(vocab.add_eos, false, vocab.eos);
  stages.post_processor = bos_eos_template(parts.bos, bos, parts.eos, eos);
  HONE_TRY(make_stages(std::move(stages), parts));
  parts.model = HONE_TRY(make_bpe(std::move(bpe)));
  add_gguf_tokens(vocab, parts);
  if (is_of_encoder(vocab) && bos && eos) HONE_TRY(set_encoder_post_processor(vocab, true, parts));
  return parts;
}

}  // namespace

bool is_of_encoder(const GgufVocab& vocab) { return vocab.cls >= 0 && vocab.sep >= 0; }

void name_gguf_tokens(const GgufVocab& vocab, TokenizerParts& parts) {
  const auto text_of = [&](int64_t id) {
    const bool given = id >= 0 && id < static_cast<int64_t>(vocab.tokens.size());
    return given ? vocab.tokens[static_cast<size_t>(id)] : std::string();
  };
  parts.bos = text_of(vocab.bos);
  parts.eos = text_of(vocab.eos);
  parts.pad = text_of(vocab.pad);
  parts.unk = text_of(vocab.unk);
  parts.sep = text_of(vocab.sep);
  parts.cls = text_of(vocab.cls);
  parts.mask = text_of(vocab.mask);
  parts.chat_template = vocab.chat_template;
}

void add_gguf_tokens(const GgufVocab& vocab, TokenizerParts& parts) {
  for (size_t id = 0; id < std::min(vocab.types.size(), vocab.tokens.size()); ++id) {
    const int32_t type = vocab.types[id];
    if (type != kUnknown && type != kControl && type != kUserDefined) continue;
    AddedToken token;
    token.content = vocab.tokens[id];
    token.special = type != kUserDefined;
    // llama.cpp's files do not tell; tokenizers other than BERT's take the space before a mask along.
    token.lstrip =
        static_cast<int64_t>(id) == vocab.mask && vocab.mask_lstrip.value_or(vocab.model != "bert");
    parts.added.add(std::move(token), parts.model->vocabulary(), parts.normalizer.get());
  }
}

Status set_encoder_post_processor(const GgufVocab& vocab, bool bos, TokenizerParts& parts) {
  PairTemplate t;
  if (bos) t.before = t.before_one = {parts.bos};
  t.after = t.after_one = t.between = {parts.eos};
  if (vocab.add_sep.value_or(false)) t.between.push_back(parts.eos);
  // RoBERTa's pairs and T5's have one segment.
  if (bos && t.between.size() == 1) t.second = 1;
  return replace_post_processor(HONE_TRY(pair_template_json(t, parts)), parts);
}

Result<Tokenizer> load_gguf_tokenizer(const GgufVocab& vocab) {
  if (vocab.model == "bert") return Tokenizer::make(HONE_TRY(read_gguf_wordpiece(vocab)));
  if (vocab.model == "t5") return Tokenizer::make(HONE_TRY(read_gguf_unigram(vocab)));
  if (vocab.model == "gpt2" || vocab.model == kScoredBpe || vocab.model == kRankedBpe)
    return Tokenizer::make(HONE_TRY(read_gguf_bpe(vocab)));
  return Error(err::kTokenizerKind,
               fmt::format("the vocabulary is of the kind \"{}\"", vocab.model))
      .at("tokenizer.ggml.model")
      .todo(
          "hone reads \"gpt2\", byte-level BPE, \"llama\" and \"gemma4\", SentencePiece BPE, "
          "\"bert\", WordPiece, and "
          "\"t5\", Unigram; give a folder with tokenizer.json by --tokenizer_name instead");
}

}  // namespace hone
