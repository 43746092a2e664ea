// Internal to the backend: helpers of the files that wrap kernels.
#pragma once

#include <cstring>

#include "base/core/philox.h"
#include "engine/backends/cpu/backend_kernels.h"
#include "engine/device/host_device.h"

namespace hone::cpu {

// Operand i and result i of a call, as pointers to their elements.
inline const float* in(const KernelArgs& a, size_t i) { return static_cast<const float*>(a.in[i]); }
inline const int32_t* in_i32(const KernelArgs& a, size_t i) {
  return static_cast<const int32_t*>(a.in[i]);
}
inline const int64_t* in_i64(const KernelArgs& a, size_t i) {
  return static_cast<const int64_t*>(a.in[i]);
}
inline float* out(const KernelArgs& a, size_t i) { return static_cast<float*>(a.out[i]); }

// The random key of an op in this optimizer step. Operand `rng` is i64[2] = {seed, step}; `place` is the hash of the
// op's scope name.
inline DropoutKey key_of(const KernelArgs& a, size_t rng, uint64_t place) {
  return dropout_key(static_cast<uint64_t>(in_i64(a, rng)[0]),
                     static_cast<uint64_t>(in_i64(a, rng)[1]), place);
}

// The random key that a 64-bit attribute holds: k0 is its low half, k1 its high half.
inline DropoutKey key_of_words(int64_t key) {
  const auto bits = static_cast<uint64_t>(key);
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}

// Copies operand i to result k, unless the plan gave both the same address. `count`: f32 elements.
inline void copy_bytes_if_apart(const KernelArgs& a, size_t i, size_t k, int64_t bytes) {
  if (a.in[i] == a.out[k]) return;
  pool_of(a).parallel_for(bytes, [&](int64_t begin, int64_t end, int) {
    std::memcpy(static_cast<std::byte*>(a.out[k]) + begin,
                static_cast<const std::byte*>(a.in[i]) + begin, static_cast<size_t>(end - begin));
  });
}
inline void copy_if_apart(const KernelArgs& a, size_t i, size_t k, int64_t count) {
  copy_bytes_if_apart(a, i, k, count * static_cast<int64_t>(sizeof(float)));
}

// Rounds a number of bytes up to whole cache lines of 64.
inline int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// A maker of kernels that declines a node if a floating-point operand or result is not f32, and calls `make`
// otherwise.
template <class Make>
auto for_f32(Make make) {
  return [make](const NodeView& n, int threads) -> Result<Kernel> {
    for (const std::vector<ValueId>* values : {&n.node.in, &n.node.out})
      for (ValueId v : *values)
        if (v != kNoValue && is_float(n.program.type(v).dtype) &&
            n.program.type(v).dtype != DType::f32)
          return declined(n, "kernels are for f32");
    return make(n, threads);
  };
}

}  // namespace hone::cpu
