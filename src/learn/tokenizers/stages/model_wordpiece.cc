// "WordPiece": the longest pieces from the left, "##" before those that continue a word (BERT).
#include "learn/tokenizers/stages/wordpiece.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/piece_cache.h"
#include "learn/tokenizers/text/prefix_trie.h"

namespace hone {
namespace {

struct WordPieceScratch : ModelScratch {
  PieceCache cache;
};

class WordPiece : public Model {
 public:
  WordPiece(WordPieceParts parts, int32_t unk_id) : parts_(std::move(parts)), unk_id_(unk_id) {
    const Vocabulary& v = parts_.vocabulary;
    std::vector<PrefixTrie::Key> first, rest;
    for (int64_t id = 0; id < v.id_limit(); ++id) {
      const auto token = v.token(id);
      if (!token || v.find(*token) != id) continue;  // an older id of a token given twice
      first.emplace_back(*token, static_cast<int32_t>(id));
      if (token->starts_with(parts_.prefix))
        rest.emplace_back(token->substr(parts_.prefix.size()), static_cast<int32_t>(id));
    }
    first_ = PrefixTrie(std::move(first));
    rest_ = PrefixTrie(std::move(rest));
  }

  std::unique_ptr<ModelScratch> make_scratch() const override {
    return std::make_unique<WordPieceScratch>();
  }
  const Vocabulary& vocabulary() const override { return parts_.vocabulary; }
  bool byte_level() const override { return false; }

  void encode(std::string_view piece, std::vector<int32_t>& ids,
              ModelScratch& scratch) const override {
    if (piece.empty()) return;
    append_cached(piece, ids, static_cast<WordPieceScratch&>(scratch).cache,
                  [&](std::string_view p, std::vector<int32_t>& out) { encode_new(p, out); });
  }

  std::string to_json() const override {
    return fmt::format(
        "{{\"type\":\"WordPiece\",\"unk_token\":{},\"continuing_subword_prefix\":{},"
        "\"max_input_chars_per_word\":{},\n\"vocab\":{}}}",
        json_quote(parts_.unk_token), json_quote(parts_.prefix), parts_.max_chars,
        parts_.vocabulary.to_json());
  }

 private:
  void encode_new(std::string_view piece, std::vector<int32_t>& ids) const {
    const char *p = piece.data(), *const end = p + piece.size();
    const auto chars = std::count_if(
        p, end, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    const size_t before = ids.size();
    if (chars <= parts_.max_chars) {
      const PrefixTrie* trie = &first_;
      while (p < end) {
        int32_t id = -1;
        p = trie->longest(p, end, id);
        if (id < 0) break;
        ids.push_back(id);
        trie = &rest_;
      }
      if (p == end) return;
      ids.resize(before);
    }
    ids.push_back(unk_id_);
  }

  WordPieceParts parts_;
  int32_t unk_id_;
  PrefixTrie first_, rest_;  // tokens; continuing tokens without their prefix
};

Result<std::unique_ptr<Model>> make_model_wordpiece(const JsonAt& spec,
                                                    const StageContext& context) {
  if (context.byte_level)
    return Error(err::kTokenizerKind, "WordPiece after a ByteLevel pre-tokenizer")
        .at(spec.where)
        .todo("hone reads WordPiece after pre-tokenizers that leave the text as it is");
  WordPieceParts parts;
  if (const auto at = spec.find("unk_token")) parts.unk_token = HONE_TRY(at->string());
  if (const auto at = spec.find("continuing_subword_prefix")) parts.prefix = HONE_TRY(at->string());
  if (const auto at = spec.find("max_input_chars_per_word"))
    parts.max_chars = HONE_TRY(at->integer());
  HONE_TRY(read_vocabulary(HONE_TRY(spec.get("vocab")), parts.vocabulary));
  auto made = make_wordpiece(std::move(parts));
  if (!made.ok()) return std::move(made.error()).at(spec.where);
  return made;
}

}  // namespace

Result<std::unique_ptr<Model>> make_wordpiece(WordPieceParts parts) {
  const auto unk = parts.vocabulary.find(parts.unk_token);
  if (!unk)
    return Error(err::kTokenizerVocabulary,
                 fmt::format("the unknown token \"{}\" is not in the vocabulary", parts.unk_token))
        .todo("take the vocabulary and its configuration from the same model");
  return std::unique_ptr<Model>(std::make_unique<WordPiece>(std::move(parts), *unk));
}

StageType tokenizer_stage_model_wordpiece() {
  return {.types = {"WordPiece"}, .model = make_model_wordpiece};
}

}  // namespace hone
