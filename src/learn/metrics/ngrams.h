// Counts the n-grams that a text shares with its references, for n = 1 to Most. Counts are exact: an n-gram is packed
// into 128 bits, not hashed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace hone {

__extension__ using uint128_t = unsigned __int128;

// The n-grams of a text of symbols (words or characters as numbers), for every n up to Most. The key of a position
// holds the Most symbols from this position on, with Bits bits for each, the first symbol in the highest bits. Zeros
// stand for symbols after the end. The keys are sorted once; the first n symbols of a key are an n-gram.
template <int Bits, int Most>
class Ngrams {
  static_assert(Bits * Most <= 128);

 public:
  // Sets the text. Symbols must be below 2^Bits - 1.
  void set(std::span<const uint32_t> symbols) {
    length_ = static_cast<int64_t>(symbols.size());
    keys_.resize(symbols.size());
    uint128_t key = 0;
    for (size_t i = symbols.size(); i-- > 0;) {
      key = key >> Bits | (static_cast<uint128_t>(symbols[i]) + 1) << (Bits * (Most - 1));
      keys_[i] = key;
    }
    std::sort(keys_.begin(), keys_.end());
  }
  int64_t length() const { return length_; }                                    // symbols
  int64_t total(int n) const { return std::max<int64_t>(length_ - n + 1, 0); }  // number of n-grams

  // The clipped matches of BLEU: the sum over this text's different n-grams of min(count here, largest count in one
  // reference).
  int64_t matches(std::span<const Ngrams> references, int n) const {
    int64_t sum = 0;
    std::vector<size_t> at(references.size(), 0);
    for (size_t i = 0; i < keys_.size();) {
      const uint128_t gram = keys_[i] >> shift(n);
      int64_t here = 0;
      for (; i < keys_.size() && keys_[i] >> shift(n) == gram; ++i) ++here;
      if (!whole(gram)) continue;
      int64_t most = 0;
      for (size_t r = 0; r < references.size(); ++r) {
        const auto& keys = references[r].keys_;
        size_t& k = at[r];
        while (k < keys.size() && keys[k] >> shift(n) < gram) ++k;
        int64_t there = 0;
        for (; k < keys.size() && keys[k] >> shift(n) == gram; ++k) ++there;
        most = std::max(most, there);
      }
      sum += std::min(here, most);
    }
    return sum;
  }

 private:
  static int shift(int n) { return Bits * (Most - n); }
  // Whether all symbols of the n-gram are before the end of the text.
  static bool whole(uint128_t gram) { return (gram & ((uint128_t{1} << Bits) - 1)) != 0; }

  std::vector<uint128_t> keys_;
  int64_t length_ = 0;
};

}  // namespace hone
