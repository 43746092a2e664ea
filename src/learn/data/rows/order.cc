#include "learn/data/rows/order.h"

#include <algorithm>
#include <bit>

#include "base/core/error.h"

namespace hone {
namespace {

// A 64-bit mixer (the finaliser of SplitMix64).
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

constexpr int kRounds = 6;
// Few rows still get a network wide enough to be random: cycles are walked for longer instead.
constexpr int kMinHalfBits = 4;

}  // namespace

RowOrder::RowOrder(int64_t rows, uint64_t seed, bool shuffle)
    : rows_(rows),
      seed_(seed),
      shuffle_(shuffle),
      half_bits_(std::max(
          kMinHalfBits,
          (static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(rows, 1) - 1))) +
           1) /
              2)) {}

int64_t RowOrder::index(int64_t epoch, int64_t i) const {
  HONE_BUG_IF(i < 0 || i >= rows_, "row {} of {}", i, rows_);
  if (!shuffle_) return i;
  const uint64_t key = mix(mix(seed_) ^ static_cast<uint64_t>(epoch));
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t x = static_cast<uint64_t>(i);
  do {
    uint64_t left = x >> half_bits_, right = x & mask;
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t f = mix(key ^ mix(right ^ (static_cast<uint64_t>(round) << 56))) & mask;
      const uint64_t next = left ^ f;
      left = right;
      right = next;
    }
    x = (left << half_bits_) | right;
  } while (x >= static_cast<uint64_t>(rows_));
  return static_cast<int64_t>(x);
}

}  // namespace hone
