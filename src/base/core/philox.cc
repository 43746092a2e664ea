#include "base/core/philox.h"

#include <cmath>

#include "base/core/error.h"
#include "base/core/hash.h"

namespace hone {
namespace {
constexpr uint32_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u;
constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
constexpr uint32_t lo32(uint64_t v) { return static_cast<uint32_t>(v); }
constexpr uint32_t hi32(uint64_t v) { return static_cast<uint32_t>(v >> 32); }
constexpr uint32_t lane_counter(uint32_t i) { return i / 64 * 16 + i % 16; }
}  // namespace

PhiloxBlock philox4x32(PhiloxBlock c, DropoutKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{kMul0} * c[0], p1 = uint64_t{kMul1} * c[2];
    c = {hi32(p1) ^ c[1] ^ key.k0, lo32(p1), hi32(p0) ^ c[3] ^ key.k1, lo32(p0)};
    key.k0 += kWeyl0;
    key.k1 += kWeyl1;
  }
  return c;
}

uint64_t scope_hash(std::string_view scope) { return fnv1a(scope); }

DropoutKey dropout_key(uint64_t seed, uint64_t step, uint64_t scope_hash) {
  const PhiloxBlock b = philox4x32({lo32(step), hi32(step), lo32(scope_hash), hi32(scope_hash)},
                                   {lo32(seed), hi32(seed)});
  return {b[0], b[1]};
}

uint32_t dropout_threshold(double p) {
  HONE_BUG_IF(!(p >= 0 && p < 1), "dropout probability {} is outside [0, 1)", p);
  const double t = std::floor(p * 4294967296.0 + 0.5);
  return t >= 4294967295.0 ? 0xffffffffu : static_cast<uint32_t>(t);
}

float dropout_scale(double p) { return static_cast<float>(1.0 / (1.0 - p)); }

uint32_t dropout_word(DropoutKey key, int64_t sample, int32_t position, int32_t channel) {
  const auto c = static_cast<uint32_t>(channel);
  const auto s = static_cast<uint64_t>(sample);
  return philox4x32({lo32(s), hi32(s), static_cast<uint32_t>(position), lane_counter(c)},
                    key)[c / 16 % 4];
}

uint32_t attention_dropout_word(DropoutKey key, int64_t sample, int32_t head, int32_t q,
                                int32_t k) {
  const auto s = static_cast<uint64_t>(sample);
  const auto column = static_cast<uint32_t>(k);
  return philox4x32({lo32(s), (hi32(s) << 16) ^ static_cast<uint32_t>(head),
                     static_cast<uint32_t>(q), lane_counter(column)},
                    key)[column / 16 % 4];
}

uint32_t PhiloxStream::next() {
  if (used_ == 4) {
    block_ = philox4x32({lo32(counter_), hi32(counter_), 0, 0}, key_);
    ++counter_;
    used_ = 0;
  }
  return block_[used_++];
}

double PhiloxStream::next_uniform() {
  const uint64_t high = next() >> 5, low = next() >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

double PhiloxStream::next_normal() {
  const double u = 1.0 - next_uniform(), v = next_uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

}  // namespace hone
