// The merge loop of byte pair encoding, for byte-level and character-level BPE.
//
// Repeatedly merges two adjacent symbols into one: the pair with the lowest rank, the leftmost of pairs with equal
// ranks. Ends when no pair has a rank. Short pieces scan an array. Long pieces use a heap, so n symbols take O(n log n)
// time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/tokenizers/stages/bpe.h"
#include "learn/tokenizers/text/piece_cache.h"

namespace hone {

// The merge of a pair: its rank in the upper 32 bits, the resulting token in the lower 32 bits. kNoMerge (the pair
// does not merge) is larger than all others.
using MergeStep = uint64_t;
inline constexpr MergeStep kNoMerge = ~MergeStep{0};

class MergeTable {
 public:
  // `merges` and `ranks` are as in BpeParts.
  MergeTable(std::span<const Merge> merges, std::span<const int32_t> ranks);

  MergeStep find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = home(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].step;
      if (slots_[i].key == kFree) return kNoMerge;
    }
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    MergeStep step = kNoMerge;
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t home(uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 20) & mask_; }

  std::vector<Slot> slots_;
  size_t mask_;
};

struct BpeScratch : ModelScratch {
  PieceCache cache;
  std::vector<int32_t> symbols;
  std::vector<MergeStep> steps;
  struct Node {
    int32_t symbol, previous, next;
  };
  std::vector<Node> nodes;
  // Rank in the upper 32 bits, index of the left symbol in the lower 32 bits.
  std::vector<uint64_t> heap;
};

// Merges scratch.symbols, the initial symbols of a piece, until no pair merges. The result is in scratch.symbols.
void merge_symbols(const MergeTable& table, BpeScratch& scratch);

}  // namespace hone
