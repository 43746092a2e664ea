// Philox 4x32-10 (Salmon et al., 2011), with the counters of base/core/philox.h.
#pragma once

#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

struct Words {
  uint32_t w[4];
};

__device__ __forceinline__ Words philox(Words c, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = static_cast<uint64_t>(0xD2511F53u) * c.w[0],
                   b = static_cast<uint64_t>(0xCD9E8D57u) * c.w[2];
    c = {{static_cast<uint32_t>(b >> 32) ^ c.w[1] ^ k0, static_cast<uint32_t>(b),
          static_cast<uint32_t>(a >> 32) ^ c.w[3] ^ k1, static_cast<uint32_t>(a)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}
__device__ __forceinline__ Words words_of(uint64_t low, uint64_t high) {
  return {{static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
           static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)}};
}

// Of a place, by {seed, step} on the device and the hash of the place's name.
struct Key {
  uint32_t k0, k1;
};
__device__ __forceinline__ Key key_of(const int64_t* seed_step, uint64_t place) {
  const auto seed = static_cast<uint64_t>(seed_step[0]);
  const Words w = philox(words_of(static_cast<uint64_t>(seed_step[1]), place),
                         static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
  return {w.w[0], w.w[1]};
}
// Made by one thread of a block.
__device__ __forceinline__ Key shared_key(const int64_t* seed_step, uint64_t place) {
  __shared__ Key key;
  if (threadIdx.x == 0) key = key_of(seed_step, place);
  __syncthreads();
  return key;
}
__device__ __forceinline__ uint32_t counter_of(uint32_t column) {
  return column / 64 * 16 + column % 16;
}

// f32 to bf16, up or down at random: element `at` of a tensor in a step (engine/ops/round_stochastic.cc).
__device__ __forceinline__ bf16 round_at_random(float x, uint64_t key, uint64_t step, uint64_t at) {
  const Words w = philox(words_of(at / 128 * 16 + at % 16, step), static_cast<uint32_t>(key),
                         static_cast<uint32_t>(key >> 32));
  const uint32_t word = w.w[at / 16 % 4], random = at % 128 < 64 ? word & 0xffff : word >> 16;
  const uint32_t bits = __float_as_uint(x);
  return {static_cast<uint16_t>(x != x ? bits >> 16 | 0x40 : (bits + random) >> 16)};
}

}  // namespace hone::cuda
