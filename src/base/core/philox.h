// Philox4x32-10: counter-based random numbers (Salmon et al., "Parallel Random Numbers: As Easy
// as 1, 2, 3", SC 2011; Random123), and the dropout masks that every backend makes from them.
// A mask is a function of (key, logical coordinate) alone, never of packed offsets, threads or
// ranks, so backward makes it again instead of storing it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hone {

// Four words of 32 bits: a counter, or the random numbers that Philox makes of it.
using PhiloxBlock = std::array<uint32_t, 4>;

// The key of Philox, 64 bits in two words.
struct DropoutKey {
  uint32_t k0 = 0, k1 = 0;
};

// The random block of counter `c` under a key, after ten rounds.
PhiloxBlock philox4x32(PhiloxBlock c, DropoutKey key);

// FNV-1a, 64 bits: the hash of a scope name such as "h.3.attn.dropout".
uint64_t scope_hash(std::string_view scope);

// The key of one dropout layer in one optimizer step: words 0 and 1 of the Philox block of counter
// {lo32(step), hi32(step), lo32(scope_hash), hi32(scope_hash)} under key {lo32(seed), hi32(seed)}.
DropoutKey dropout_key(uint64_t seed, uint64_t step, uint64_t scope_hash);

// With dropout probability p, 0 <= p < 1, an element is kept iff its random word >= dropout_threshold(p) =
// round(p * 2^32) (2^32 - 1 if that rounds to 2^32). A kept element is multiplied by dropout_scale(p) = 1 / (1 - p).
uint32_t dropout_threshold(double p);
float dropout_scale(double p);

// The random word of element (sample, position, channel) of an activation: word (channel/16)%4 of the block of counter
// {lo32(sample), hi32(sample), position, (channel/64)*16 + channel%16}. Sixteen SIMD lanes with channel%16 = 0 .. 15
// thus make 64 consecutive channels without a shuffle.
uint32_t dropout_word(DropoutKey key, int64_t sample, int32_t position, int32_t channel);

// The random word of the attention probability (sample, head, q, k): word (k/16)%4 of the block of counter
// {lo32(sample), (hi32(sample) << 16) ^ head, q, (k/64)*16 + k%16}. q and k are positions of query and key in their
// sequences.
uint32_t attention_dropout_word(DropoutKey key, int64_t sample, int32_t head, int32_t q, int32_t k);

// A sequential random generator: the words of the blocks with counters {0, 0, 0, 0}, {1, 0, 0, 0} and so on. Used for
// initial weights and sampling.
class PhiloxStream {
 public:
  // Starts at the first word of the block with this number.
  explicit PhiloxStream(DropoutKey key, uint64_t block = 0) : key_(key), counter_(block) {}
  uint32_t next();        // the next word
  double next_uniform();  // uniform in [0, 1) with 53 random bits, from two words
  double next_normal();   // normal with mean 0 and variance 1 (Box-Muller), from four words

 private:
  DropoutKey key_;
  uint64_t counter_;
  PhiloxBlock block_{};
  int used_ = 4;
};

}  // namespace hone
