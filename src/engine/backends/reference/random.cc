// Dropout masks from Philox words, written without the code that faster backends use.
#include <bit>

#include "base/core/hash.h"
#include "engine/backends/reference/numbers.h"

namespace hone::reference {
namespace {

struct Key {
  uint32_t k0, k1;
};

// {seed, step} and the 64-bit FNV-1a hash of the place's name.
Key key_of(const void* rng, const std::string& place) {
  const auto* seed_step = static_cast<const int64_t*>(rng);
  auto seed = static_cast<uint64_t>(seed_step[0]), step = static_cast<uint64_t>(seed_step[1]);
  const uint64_t hash = fnv1a(place);
  Words w = philox({{uint32_t(step), uint32_t(step >> 32), uint32_t(hash), uint32_t(hash >> 32)}},
                   uint32_t(seed), uint32_t(seed >> 32));
  return {w.w[0], w.w[1]};
}

bool keeps(Words w, uint32_t column, double p) {
  return static_cast<double>(w.w[column / 16 % 4]) >=
         std::min(std::floor(p * 4294967296.0 + 0.5), 4294967295.0);
}
uint32_t lane(uint32_t column) { return column / 64 * 16 + column % 16; }

void dropout_mask(const Call& c, const KernelArgs& a) {
  const auto* samples = static_cast<const int64_t*>(a.in[1]);
  const auto* positions = static_cast<const int32_t*>(a.in[2]);
  const double p = c.attrs.real("p");
  const Key key = key_of(a.in[0], c.attrs.text("key"));
  const int64_t rows = c.out[0].shape[0], channels = c.out[0].shape[1];
  auto* out = static_cast<uint8_t*>(a.out[0]);
  for (int64_t t = 0; t < rows; ++t) {
    auto s = static_cast<uint64_t>(samples[t]);
    for (int64_t j = 0; j < channels; ++j) {
      auto channel = static_cast<uint32_t>(j);
      Words w = philox({{uint32_t(s), uint32_t(s >> 32), uint32_t(positions[t]), lane(channel)}},
                       key.k0, key.k1);
      *out++ = keeps(w, channel, p);
    }
  }
}

void attention_dropout_mask(const Call& c, const KernelArgs& a) {
  const auto* samples = static_cast<const int64_t*>(a.in[1]);
  const auto* cu_q = static_cast<const int32_t*>(a.in[2]);
  const auto* cu_k = static_cast<const int32_t*>(a.in[3]);
  const double p = c.attrs.real("p");
  const Key key = key_of(a.in[0], c.attrs.text("key"));
  const int64_t heads = c.out[0].shape[0], tq = c.out[0].shape[1], tk = c.out[0].shape[2];
  auto* out = static_cast<uint8_t*>(a.out[0]);
  std::fill(out, out + c.out[0].count(), uint8_t{1});
  for (int64_t segment = 0; segment + 1 < c.in[2].count(); ++segment)
    for (int64_t h = 0; h < heads; ++h)
      for (int32_t i = cu_q[segment]; i < cu_q[segment + 1]; ++i)
        for (int32_t j = cu_k[segment]; j < cu_k[segment + 1]; ++j) {
          auto s = static_cast<uint64_t>(samples[i]);
          auto column = static_cast<uint32_t>(j - cu_k[segment]);
          Words w = philox({{uint32_t(s), (uint32_t(s >> 32) << 16) ^ uint32_t(h),
                             uint32_t(i - cu_q[segment]), lane(column)}},
                           key.k0, key.k1);
          out[(h * tq + i) * tk + j] = keeps(w, column, p);
        }
}

void random_normal(const Call& c, const KernelArgs& a) {
  const Attrs& o = c.attrs;
  const auto key = static_cast<uint64_t>(o.integer("key"));
  const auto round =
      static_cast<uint64_t>((static_cast<const int64_t*>(a.in[0])[0] - 1) / o.integer("period"));
  Numbers x(static_cast<size_t>(c.out[0].count()));
  for (uint64_t i = 0; i < x.size(); ++i) {
    const uint64_t block = i / 4;
    const Words w =
        philox({{uint32_t(block), uint32_t(block >> 32), uint32_t(round), uint32_t(round >> 32)}},
               uint32_t(key), uint32_t(key >> 32));
    const uint32_t* pair = w.w + (i % 4 < 2 ? 0 : 2);
    const double length = std::sqrt(-2 * std::log((pair[0] + 0.5) * 0x1p-32));
    const double angle = 2 * std::acos(-1.0) * pair[1] * 0x1p-32;
    x[i] = o.real("std") * length * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
  }
  store(x, a.out[0], c.out[0]);
}

void round_stochastic(const Call& c, const KernelArgs& a) {
  const auto key = static_cast<uint64_t>(c.attrs.integer("key"));
  const auto first = static_cast<uint64_t>(c.attrs.integer("first"));
  const auto step = static_cast<uint64_t>(*static_cast<const int64_t*>(a.in[1]));
  const Numbers x = load(a.in[0], c.in[0]);
  auto* out = static_cast<uint16_t*>(a.out[0]);
  for (uint64_t i = 0; i < x.size(); ++i) {
    const uint64_t n = first + i, counter = n / 128 * 16 + n % 16;
    const Words w =
        philox({{uint32_t(counter), uint32_t(counter >> 32), uint32_t(step), uint32_t(step >> 32)}},
               uint32_t(key), uint32_t(key >> 32));
    const uint32_t word = w.w[n / 16 % 4], random = n % 128 < 64 ? word & 0xffff : word >> 16;
    const float value = static_cast<float>(x[i]);
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    out[i] = static_cast<uint16_t>(std::isnan(value) ? bits >> 16 | 0x40 : (bits + random) >> 16);
  }
}

}  // namespace

Words philox(Words c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = c.w[0] * uint64_t{0xD2511F53}, b = c.w[2] * uint64_t{0xCD9E8D57};
    c = {{uint32_t(b >> 32) ^ c.w[1] ^ key0, uint32_t(b), uint32_t(a >> 32) ^ c.w[3] ^ key1,
          uint32_t(a)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

void add_random(Table& t) {
  t["dropout_mask"] = dropout_mask;
  t["attention_dropout_mask"] = attention_dropout_mask;
  t["random_normal"] = random_normal;
  t["round_stochastic"] = round_stochastic;
}

}  // namespace hone::reference
