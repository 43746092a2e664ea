// Philox4x32-10: counter-based random numbers (Salmon et al., "Parallel Random Numbers: As Easy
// as 1, 2, 3", SC 2011; Random123), and the dropout masks that every backend makes from them.
// A mask is a function of (key, logical coordinate) alone, never of packed offsets, threads or
// ranks, so backward makes it again instead of storing it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hone {

using PhiloxBlock = std::array<uint32_t, 4>;

struct DropoutKey {
  uint32_t k0 = 0, k1 = 0;
};

// Ten rounds of counter `c` under key (k0, k1).
PhiloxBlock philox4x32(PhiloxBlock c, DropoutKey key);

// FNV-1a, 64 bits: the hash of a scope name such as "h.3.attn.dropout".
uint64_t scope_hash(std::string_view scope);

// Key of one dropout in one optimizer step: words 0 and 1 of the Philox block of counter
// {lo32(step), hi32(step), lo32(scope_hash), hi32(scope_hash)} under key {lo32(seed), hi32(seed)}.
DropoutKey dropout_key(uint64_t seed, uint64_t step, uint64_t scope_hash);

// An element is kept iff its word >= dropout_threshold(p) = round(p * 2^32), 0 <= p < 1 (values
// that round to 2^32 give 2^32 - 1), and is then multiplied by dropout_scale(p) = 1 / (1 - p).
uint32_t dropout_threshold(double p);
float dropout_scale(double p);

// Word of element (sample, position, channel) of an activation: counter = {lo32(sample),
// hi32(sample), position, (channel/64)*16 + channel%16}, word (channel/16)%4. Sixteen lanes that
// count channel%16 thus yield 64 consecutive channels without a shuffle.
uint32_t dropout_word(DropoutKey key, int64_t sample, int32_t position, int32_t channel);

// Word of attention probability (sample, head, q, k), q and k positions inside their sequences:
// counter = {lo32(sample), (hi32(sample) << 16) ^ head, q, (k/64)*16 + k%16}, word (k/16)%4.
uint32_t attention_dropout_word(DropoutKey key, int64_t sample, int32_t head, int32_t q, int32_t k);

// A sequential generator over the same function: uniform numbers for initial weights, sampling.
class PhiloxStream {
 public:
  // From word 4 * block: a normal number takes four words, a uniform one two.
  explicit PhiloxStream(DropoutKey key, uint64_t block = 0) : key_(key), counter_(block) {}
  uint32_t next();
  double next_uniform();  // [0, 1), 53 bits
  double next_normal();   // Box-Muller

 private:
  DropoutKey key_;
  uint64_t counter_;
  PhiloxBlock block_{};
  int used_ = 4;
};

}  // namespace hone
