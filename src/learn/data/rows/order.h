// The order of rows in an epoch: sequential, or a random permutation whose entries are computed one by one, without a
// table.
#pragma once

#include <cstdint>

namespace hone {

// index(epoch, i) is the row at position i of an epoch. In each epoch every row of [0, rows) has one position. A call
// takes O(1) time and no memory: it applies a Feistel network, keyed by seed and epoch, until the result is less than
// `rows` (cycle walking: Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002). The network has six rounds
// and works on b bits, where b is the smallest even number with b >= 8 and 2^b >= `rows`. The result is the same on
// every machine. Do not change the result: checkpoints depend on it.
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
