// The order of rows: sequential, or a seeded permutation in which any place is found at once.
#pragma once

#include <cstdint>

namespace hone {

// index(epoch, i) is a bijection of [0, rows) for each epoch, found in O(1) and without memory:
// a six-round Feistel network over the smallest even number of bits that holds `rows`, keyed by
// seed and epoch, walked along its cycle until it is inside. (Black and Rogaway, Ciphers with
// Arbitrary Finite Domains, 2002.) The same on every machine; frozen, since checkpoints rely on it.
class RowOrder {
 public:
  static RowOrder sequential(int64_t rows) { return RowOrder(rows, 0, false); }
  static RowOrder shuffled(int64_t rows, uint64_t seed) { return RowOrder(rows, seed, true); }

  int64_t rows() const { return rows_; }
  int64_t index(int64_t epoch, int64_t i) const;  // 0 <= i < rows

 private:
  RowOrder(int64_t rows, uint64_t seed, bool shuffle);

  int64_t rows_;
  uint64_t seed_;
  bool shuffle_;
  int half_bits_;
};

}  // namespace hone
