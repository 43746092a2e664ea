// Byte-level BPE.
#include <array>

#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/bpe_merge.h"
#include "learn/tokenizers/text/scratch_string.h"

namespace hone {
namespace {

class ByteBpe : public Model {
 public:
  explicit ByteBpe(BpeParts parts) : parts_(std::move(parts)), table_(parts_.merges, parts_.ranks) {
    std::string spelled;
    for (int b = 0; b < 256; ++b) {
      spelled.clear();
      append_utf8(spelled, byte_to_char(static_cast<uint8_t>(b)));
      byte_ids_[b] = parts_.vocabulary.find(spelled).value_or(-1);
    }
    if (!parts_.unk_token.empty()) unk_id_ = parts_.vocabulary.find(parts_.unk_token).value_or(-1);
  }

  std::unique_ptr<ModelScratch> make_scratch() const override {
    return std::make_unique<BpeScratch>();
  }
  const Vocabulary& vocabulary() const override { return parts_.vocabulary; }
  bool byte_level() const override { return true; }
  std::string to_json() const override { return bpe_json(parts_); }

  void encode(std::string_view piece, std::vector<int32_t>& ids,
              ModelScratch& scratch) const override {
    auto& s = static_cast<BpeScratch&>(scratch);
    if (piece.empty()) return;
    append_cached(piece, ids, s.cache,
                  [&](std::string_view p, std::vector<int32_t>& out) { encode_new(p, out, s); });
  }

 private:
  void encode_new(std::string_view piece, std::vector<int32_t>& ids, BpeScratch& s) const {
    if (parts_.ignore_merges) {
      ScratchString spelled;
      append_byte_level(piece, *spelled);
      if (const auto id = parts_.vocabulary.find(*spelled)) {
        ids.push_back(*id);
        return;
      }
    }
    s.symbols.clear();
    bool unknown_before = false;
    for (const char c : piece) {
      int32_t id = byte_ids_[static_cast<unsigned char>(c)];
      const bool unknown = id < 0;
      if (unknown) {
        if (unk_id_ < 0 || (unknown_before && parts_.fuse_unk)) continue;
        id = unk_id_;
      }
      s.symbols.push_back(id);
      unknown_before = unknown;
    }
    merge_symbols(table_, s);
    ids.insert(ids.end(), s.symbols.begin(), s.symbols.end());
  }

  BpeParts parts_;
  MergeTable table_;
  std::array<int32_t, 256> byte_ids_;
  int32_t unk_id_ = -1;
};

}  // namespace

std::unique_ptr<Model> make_byte_level_bpe(BpeParts parts) {
  return std::make_unique<ByteBpe>(std::move(parts));
}

}  // namespace hone
