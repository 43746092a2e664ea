// A text comes as one piece of any length. Only the first piece of a word holds U+2581, so the text
// splits into words, which are covered and cached separately: the best cover of the whole consists
// of theirs. This holds unless rounding decides: a cached word records by how much its best cover
// was better, and if the sum so far is too large for that, the word is covered again, with the sum
// of SentencePiece or tokenizers.
#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cfloat>
#include <climits>
#include <cmath>

#include "base/unicode/swar.h"
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/unigram.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/metaspace.h"
#include "learn/tokenizers/text/piece_cache.h"
#include "learn/tokenizers/text/prefix_trie.h"

namespace hone {
namespace {

constexpr int32_t kUnknown = -1;
// SentencePiece restarts from zero if a sum of floats exceeds this.
constexpr double kLargestSum = 100000;
constexpr int8_t kNoMargin = -128;
constexpr size_t kKeptLatticeNodes = size_t{1} << 16;  // a rare giant must not pin its memory

struct UnigramScratch : ModelScratch {
  PieceCache cache;  // of places in pieces, not of ids
  struct Node {
    double score;    // of the best cover that ends here; a float's value in single precision
    int32_t piece;   // its last piece
    uint32_t start;  // where that begins
  };
  std::vector<Node> nodes;
  struct Step {
    int32_t piece;
    uint32_t start, end;
  };
  std::vector<Step> steps;
  std::vector<int32_t> places;
  double sum = 0;
};

class Unigram : public Model {
 public:
  explicit Unigram(UnigramParts parts) : parts_(std::move(parts)) {
    std::vector<PrefixTrie::Key> keys;
    keys.reserve(parts_.pieces.size());
    for (size_t i = 0; i < parts_.pieces.size(); ++i) {
      const UnigramPiece& p = parts_.pieces[i];
      keys.emplace_back(p.text, static_cast<int32_t>(i));
      const bool unknown = p.id == parts_.unk_id && parts_.vocabulary.token(p.id) == p.text;
      scores_.push_back(p.score);
      ids_.push_back(unknown ? kUnknown : p.id);
      by_id_ = by_id_ && p.id == static_cast<int32_t>(i);
      has_space_ = has_space_ || p.text == kMetaspace;
      for (size_t at = 1; (at = p.text.find(kMetaspace, at)) != p.text.npos; ++at)
        before_space_.set(static_cast<unsigned char>(p.text[at - 1]));
    }
    trie_ = PrefixTrie(std::move(keys));
    for (int b = 0; b < 256; ++b) {
      byte_ids_[static_cast<size_t>(b)] =
          parts_.vocabulary.find(fmt::format("<0x{:02X}>", b)).value_or(-1);
    }
  }

  std::unique_ptr<ModelScratch> make_scratch() const override {
    return std::make_unique<UnigramScratch>();
  }
  const Vocabulary& vocabulary() const override { return parts_.vocabulary; }
  bool byte_level() const override { return false; }
  std::string to_json() const override;

  void encode(std::string_view piece, std::vector<int32_t>& ids,
              ModelScratch& scratch) const override {
    auto& s = static_cast<UnigramScratch&>(scratch);
    double sum = 0;
    const char* const end = piece.data() + piece.size();
    for (const char* p = piece.data(); p < end;) {
      const char* const q = word_end(p, end);
      encode_word({p, static_cast<size_t>(q - p)}, q == end, sum, ids, s);
      p = q;
    }
  }

 private:
  const char* word_end(const char* p, const char* end) const {
    if (!has_space_) return end;
    for (const char* q = p + 1; q < end; ++q) {
      q = find_near(q, end, kMetaspace[0]);
      if (end - q >= 3 && q[1] == kMetaspace[1] && q[2] == kMetaspace[2] &&
          !before_space_[static_cast<unsigned char>(q[-1])])
        return q;
    }
    return end;
  }

  // The distance that is left of a margin when its own sums were rounded, as a power of two.
  static int8_t kept_of(double margin) {
    if (margin <= 0) return kNoMargin;
    if (std::isinf(margin)) return 126;
    int exponent = 0;
    std::frexp(margin, &exponent);
    return static_cast<int8_t>(std::clamp(exponent - 2, -127, 126));
  }
  // The margin by which the best cover of a word, found with the sum 0, must exceed the others to
  // be the best with the sum `sum`, as a power of two: each of its characters rounds both sums by
  // half the last place at most, and none takes more off than an unknown one.
  int margin_wanted(std::string_view word, double sum) const {
    if (sum == 0) return kNoMargin;
    const auto roundings = static_cast<unsigned>(word.size()) + 1;
    const double largest = std::fabs(sum) + roundings * (std::fabs(parts_.unk_score) + 1);
    if (parts_.single_precision && largest > kLargestSum) return INT_MAX;
    const int exponent = static_cast<int>(std::bit_cast<uint64_t>(largest) >> 52) - 1022;
    return exponent - (parts_.single_precision ? FLT_MANT_DIG : DBL_MANT_DIG) +
           static_cast<int>(std::bit_width(roundings));
  }

  void encode_word(std::string_view word, bool last, double& sum, std::vector<int32_t>& ids,
                   UnigramScratch& s) const {
    if (word.size() > PieceCache::kMostBytes) return encode_new(word, sum, ids, s);
    bool hit = false;
    PieceCache::Entry* const e =
        word.size() <= PieceCache::kMaxBytes ? &s.cache.at(word, hit) : nullptr;
    const auto add = [&](int32_t piece) {
      ids.push_back(by_id_ ? piece : ids_[static_cast<size_t>(piece)]);
      if (!last) sum = rounded(sum + scores_[static_cast<size_t>(piece)]);
    };
    if (hit && e->count != PieceCache::kInLong) {
      if (e->extra < margin_wanted(word, sum)) return encode_new(word, sum, ids, s);
      for (int i = 0; i < e->count; ++i) add(e->id(i));
      return;
    }
    if (hit || !e)
      if (const PieceCache::Long* const l = s.cache.find_long(word)) {
        if (l->extra < margin_wanted(word, sum)) return encode_new(word, sum, ids, s);
        for (int i = 0; i < l->count; ++i) add(l->ids[static_cast<size_t>(i)]);
        return;
      }
    const int8_t extra = kept_of(cover(word, 0, s));
    s.places.clear();
    for (const auto& step : s.steps) s.places.push_back(step.piece);
    const bool known = std::count(s.places.begin(), s.places.end(), kUnknown) == 0;
    if (e && known && s.places.size() <= PieceCache::kMaxIds) {
      e->set(s.places);
      e->extra = extra;
    } else {
      if (e) e->count = PieceCache::kInLong;
      if (known) s.cache.keep_long(word, s.places, extra);
    }
    if (sum == 0) {
      sum = s.sum;
      return append(word, ids, s);
    }
    if (!known || extra < margin_wanted(word, sum)) return encode_new(word, sum, ids, s);
    for (const int32_t piece : s.places) add(piece);
  }

  void encode_new(std::string_view word, double& sum, std::vector<int32_t>& ids,
                  UnigramScratch& s) const {
    (void)cover(word, sum, s);
    sum = s.sum;
    append(word, ids, s);
  }

  double rounded(double x) const {
    return parts_.single_precision ? static_cast<double>(static_cast<float>(x)) : x;
  }

  // Fills s.steps with the best cover of a text whose sum begins at `sum`, and s.sum with the sum
  // after it; gives the least distance between a cover and one that it was preferred to.
  double cover(std::string_view text, double sum, UnigramScratch& s) const {
    auto& nodes = s.nodes;
    const char *const begin = text.data(), *const end = begin + text.size();
    nodes.assign(text.size() + 1, {0, 0, UINT32_MAX});
    nodes[0].score = sum;
    double margin = HUGE_VAL;
    size_t reached = 0;  // the last place where a cover ends
    for (const char* p = begin; p < end;) {
      const auto start = static_cast<uint32_t>(p - begin);
      double here = nodes[start].score;
      if (parts_.single_precision && std::fabs(here) > kLargestSum) {
        for (size_t at = start; at <= std::max<size_t>(start, reached); ++at)
          nodes[at].score = rounded(nodes[at].score - here);
        here = 0;
      }
      const auto offer = [&](size_t at, double score, int32_t piece) {
        reached = std::max(reached, at);
        UnigramScratch::Node& node = nodes[at];
        if (node.start != UINT32_MAX) {
          margin = std::min(margin, std::fabs(score - node.score));
          if (!(score > node.score)) return;
        }
        node = {score, piece, start};
      };
      const char* const next = p + decode_char(p, end).length;
      bool single = false;
      trie_.each_prefix(p, end, [&](const char* at, int32_t piece) {
        single = single || at == next;
        offer(static_cast<size_t>(at - begin), rounded(scores_[static_cast<size_t>(piece)] + here),
              ids_[static_cast<size_t>(piece)] == kUnknown ? kUnknown : piece);
      });
      if (!single)
        offer(static_cast<size_t>(next - begin), rounded(parts_.unk_score + here), kUnknown);
      p = next;
    }
    s.sum = nodes.back().score;
    s.steps.clear();
    for (auto at = static_cast<uint32_t>(text.size()); at > 0; at = nodes[at].start)
      s.steps.push_back({nodes[at].piece, nodes[at].start, at});
    std::reverse(s.steps.begin(), s.steps.end());
    if (nodes.capacity() > kKeptLatticeNodes) std::vector<UnigramScratch::Node>().swap(nodes);
    return margin;
  }

  // The ids of s.steps.
  void append(std::string_view text, std::vector<int32_t>& ids, const UnigramScratch& s) const {
    for (size_t i = 0; i < s.steps.size();) {
      const auto [piece, start, stop] = s.steps[i];
      if (piece != kUnknown) {
        ids.push_back(ids_[static_cast<size_t>(piece)]);
        ++i;
        continue;
      }
      uint32_t run_end = stop;
      for (; i < s.steps.size() && s.steps[i].piece == kUnknown; ++i) run_end = s.steps[i].end;
      append_unknown(text.substr(start, run_end - start), ids);
    }
  }

  void append_unknown(std::string_view run, std::vector<int32_t>& ids) const {
    if (parts_.look_up_unknown) {
      if (const auto id = parts_.vocabulary.find(run)) {
        ids.push_back(*id);
        return;
      }
    }
    const auto missing = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)] < 0; };
    if (!parts_.byte_fallback || std::any_of(run.begin(), run.end(), missing)) {
      if (parts_.unk_id >= 0) ids.push_back(parts_.unk_id);
      return;
    }
    for (const char c : run) ids.push_back(byte_ids_[static_cast<unsigned char>(c)]);
  }

  UnigramParts parts_;
  PrefixTrie trie_;             // texts of the pieces, with their place
  std::vector<double> scores_;  // of the pieces
  std::vector<int32_t> ids_;  // of the pieces, or kUnknown, for the unknown token as it is spelled
  bool by_id_ = true;         // the id of a piece is its place
  std::array<int32_t, 256> byte_ids_;
  std::bitset<256> before_space_;  // byte before a U+2581 inside a piece
  bool has_space_ = false;
};

std::string Unigram::to_json() const {
  const Vocabulary& v = parts_.vocabulary;
  std::vector<double> scores(static_cast<size_t>(v.id_limit()), 0);
  for (const UnigramPiece& p : parts_.pieces) scores[static_cast<size_t>(p.id)] = p.score;
  std::string out = fmt::format(
      "{{\"type\":\"Unigram\",\"unk_id\":{},\"byte_fallback\":{},\n\"vocab\":[",
      parts_.unk_id < 0 ? "null" : fmt::format("{}", parts_.unk_id), parts_.byte_fallback);
  for (int64_t id = 0; id < v.id_limit(); ++id)
    out += fmt::format("{}[{},{}]", id == 0 ? "\n" : ",\n", json_quote(v.token(id).value_or("")),
                       scores[static_cast<size_t>(id)]);
  return out + "]}";
}

Result<std::unique_ptr<Model>> make_model_unigram(const JsonAt& spec, const StageContext& context) {
  if (context.byte_level)
    return Error(err::kTokenizerKind, "Unigram after a ByteLevel pre-tokenizer")
        .at(spec.where)
        .todo("hone reads Unigram after pre-tokenizers that leave the text as it is");
  UnigramParts parts;
  parts.look_up_unknown = true;
  parts.byte_fallback = HONE_TRY(spec.boolean_or("byte_fallback", false));
  const JsonAt list = HONE_TRY(spec.get("vocab"));
  const auto pairs = HONE_TRY(list.array());
  parts.vocabulary.reserve(pairs.size(), pairs.size() * 8);
  double lowest = HUGE_VAL;
  for (const JsonElement item : pairs) {
    const auto id = static_cast<int32_t>(parts.pieces.size());
    simdjson::dom::array pair;
    std::string_view text;
    double score = 0;
    if (item.get(pair) || pair.size() != 2 || pair.at(0).get(text) || pair.at(1).get(score) ||
        !std::isfinite(score))
      return list.item(item, static_cast<size_t>(id)).expected("[token, score]");
    HONE_TRY(parts.vocabulary.add(text, id));
    parts.pieces.push_back({std::string(text), score, id});
    lowest = std::min(lowest, score);
  }
  parts.unk_score = lowest - kUnknownPenalty;
  if (const auto at = spec.find("unk_id")) {
    const int64_t id = HONE_TRY(at->integer());
    if (id < 0 || id >= static_cast<int64_t>(parts.pieces.size()))
      return Error(err::kTokenizerVocabulary,
                   fmt::format("the unknown token has the id {}, the vocabulary {} tokens", id,
                               parts.pieces.size()))
          .at(at->where)
          .todo("take the file from the model's authors again");
    parts.unk_id = static_cast<int32_t>(id);
  }
  return make_unigram(std::move(parts));
}

}  // namespace

std::unique_ptr<Model> make_unigram(UnigramParts parts) {
  return std::make_unique<Unigram>(std::move(parts));
}

StageType tokenizer_stage_model_unigram() {
  return {.types = {"Unigram"}, .model = make_model_unigram};
}

}  // namespace hone
