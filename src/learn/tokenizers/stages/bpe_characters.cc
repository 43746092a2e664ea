// Character-level BPE with byte fallback, with SentencePiece's rules.
//
// A text comes as one piece of any length. If no token holds two neighbouring characters side by
// side, nothing can merge across them: the piece is cut there into chunks, which are merged and
// cached separately. The ids are the same.
#include <array>
#include <bitset>

#include "base/unicode/swar.h"
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/bpe_merge.h"
#include "learn/tokenizers/text/metaspace.h"

namespace hone {
namespace {

class CharacterBpe : public Model {
 public:
  explicit CharacterBpe(BpeParts parts)
      : parts_(std::move(parts)), table_(parts_.merges, parts_.ranks) {
    const Vocabulary& v = parts_.vocabulary;
    all_bytes_ = parts_.byte_fallback;
    for (int b = 0; b < 256; ++b) {
      byte_ids_[b] = v.find(fmt::format("<0x{:02X}>", b)).value_or(-1);
      all_bytes_ = all_bytes_ && byte_ids_[b] >= 0;
      const char c = static_cast<char>(b);
      ascii_ids_[b] = b < 0x80 ? v.find({&c, 1}).value_or(-1) : -1;
    }
    if (!parts_.unk_token.empty()) unk_id_ = v.find(parts_.unk_token).value_or(-1);
    mark_neighbours();
  }

  std::unique_ptr<ModelScratch> make_scratch() const override {
    return std::make_unique<BpeScratch>();
  }
  const Vocabulary& vocabulary() const override { return parts_.vocabulary; }
  bool byte_level() const override { return false; }
  std::string to_json() const override { return bpe_json(parts_); }

  void encode(std::string_view piece, std::vector<int32_t>& ids,
              ModelScratch& scratch) const override {
    auto& s = static_cast<BpeScratch&>(scratch);
    if (piece.empty()) return;
    if (parts_.ignore_merges) {
      if (const auto id = parts_.vocabulary.find(piece)) {
        ids.push_back(*id);
        return;
      }
    }
    const auto compute = [&](std::string_view p, std::vector<int32_t>& out) {
      encode_new(p, out, s);
    };
    const char* const end = piece.data() + piece.size();
    for (const char* p = piece.data(); p < end;) {
      const char* q = metaspace_at(p, end) ? p + kMetaspace.size() : p + 1;
      // Keep letter runs whole even if they cannot merge: the cut is found faster that way.
      do q = skip_letters(q, end);
      while (q < end && joined(q, end) && ++q);
      append_cached({p, static_cast<size_t>(q - p)}, ids, s.cache, compute);
      p = q;
    }
  }

 private:
  static bool metaspace_at(const char* p, const char* end) {
    return end - p >= 3 && p[0] == kMetaspace[0] && p[1] == kMetaspace[1] && p[2] == kMetaspace[2];
  }

  // Whether a token may hold the bytes before and after q side by side.
  bool joined(const char* q, const char* end) const {
    const auto before = static_cast<unsigned char>(q[-1]), behind = static_cast<unsigned char>(*q);
    if (behind == 0xE2 && metaspace_at(q, end)) return before_space_[before];
    return neighbours_[before << 8 | behind];
  }

  void mark_neighbours() {
    const Vocabulary& v = parts_.vocabulary;
    // Unknown characters join to one token only where they stay together.
    if (!all_bytes_) neighbours_.set();
    if (!v.find(kMetaspace)) before_space_.set();
    for (int before = 0; before < 256; ++before)
      for (int behind = 0x80; behind < 0xC0; ++behind) neighbours_.set(before << 8 | behind);
    for (const Merge& m : parts_.merges) {
      const auto left = v.token(m.left), right = v.token(m.right);
      if (!left || !right || left->empty() || right->empty()) continue;
      const auto before = static_cast<unsigned char>(left->back());
      const auto behind = static_cast<unsigned char>(right->front());
      if (right->starts_with(kMetaspace))
        before_space_.set(before);
      else
        neighbours_.set(before << 8 | behind);
    }
  }

  void encode_new(std::string_view piece, std::vector<int32_t>& ids, BpeScratch& s) const {
    s.symbols.clear();
    bool unknown = false;  // an unknown token is due, as soon as a known character comes
    const char* const end = piece.data() + piece.size();
    for (const char* p = piece.data(); p < end;) {
      const auto length = static_cast<size_t>(decode_char(p, end).length);
      const std::string_view character(p, length);
      p += length;
      int32_t id = ascii_ids_[static_cast<unsigned char>(character[0])];
      if (length > 1) id = parts_.vocabulary.find(character).value_or(-1);
      if (id >= 0) {
        if (unknown) s.symbols.push_back(unk_id_);
        unknown = false;
        s.symbols.push_back(id);
      } else if (!push_bytes(character, s.symbols) && unk_id_ >= 0) {
        if (unknown && !parts_.fuse_unk) s.symbols.push_back(unk_id_);
        unknown = true;
      }
    }
    if (unknown) s.symbols.push_back(unk_id_);
    merge_symbols(table_, s);
    ids.insert(ids.end(), s.symbols.begin(), s.symbols.end());
  }

  bool push_bytes(std::string_view character, std::vector<int32_t>& symbols) const {
    if (!parts_.byte_fallback) return false;
    for (const char c : character)
      if (byte_ids_[static_cast<unsigned char>(c)] < 0) return false;
    for (const char c : character) symbols.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    return true;
  }

  BpeParts parts_;
  MergeTable table_;
  std::array<int32_t, 256> byte_ids_, ascii_ids_;
  bool all_bytes_ = false;
  int32_t unk_id_ = -1;
  std::bitset<65536> neighbours_;  // byte before << 8 | byte after
  std::bitset<256> before_space_;  // byte before a U+2581
};

}  // namespace

std::unique_ptr<Model> make_character_bpe(BpeParts parts) {
  return std::make_unique<CharacterBpe>(std::move(parts));
}

}  // namespace hone
