// Helpers for tests of CPU kernels: buffers that detect writes outside of them, random data, and a loop over the
// instruction sets.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/core/threads.h"
#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {

// A buffer of `count` floats, aligned to 64 bytes, with margins before and after it. intact(): nothing was written into
// the margins.
class Guarded {
 public:
  explicit Guarded(int64_t count, float fill = 0.0f)
      : count_(count), data_(count + 2 * kMargin + 16, kCanary) {
    const auto at = reinterpret_cast<uintptr_t>(data_.data());
    begin_ = data_.data() + kMargin + (64 - at % 64) % 64 / 4;
    std::fill(begin_, begin_ + count, fill);
  }
  float* get() { return begin_; }
  float& operator[](int64_t i) { return begin_[i]; }
  int64_t size() const { return count_; }
  bool intact() const {
    for (const float* p = data_.data(); p < data_.data() + data_.size(); ++p)
      if ((p < begin_ || p >= begin_ + count_) && *p != kCanary) return false;
    return true;
  }

 private:
  static constexpr int64_t kMargin = 64;
  static constexpr float kCanary = -12345.678f;
  int64_t count_;
  std::vector<float> data_;
  float* begin_;
};

// Uniform random numbers in [low, high).
inline Guarded random_floats(int64_t count, uint32_t seed, float low = -1, float high = 1) {
  Guarded g(count);
  std::mt19937 r(seed);
  std::uniform_real_distribution<float> u(low, high);
  for (int64_t i = 0; i < count; ++i) g[i] = u(r);
  return g;
}

// The largest |a - b|, divided by the largest |b|. b: the expected values.
inline double relative_error(const float* a, const std::vector<double>& b) {
  double worst = 0, scale = 1e-30;
  for (size_t i = 0; i < b.size(); ++i) {
    const double d = std::fabs(a[i] - b[i]);
    worst = d > worst || std::isnan(d) ? d : worst;
    scale = std::max(scale, std::fabs(b[i]));
  }
  return worst / scale;
}

// Runs `f` once with each instruction set that this processor supports, up to `last`.
template <class Fn>
void for_each_isa(Fn&& f, Isa last = Isa::avx512) {
  const Isa before = isa();
  for (Isa i : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx}) {
    if (i > last || !isa_supported(i)) continue;
    SCOPED_TRACE(isa_name(i));
    set_isa(i);
    f();
  }
  set_isa(before);
}

}  // namespace hone::cpu
