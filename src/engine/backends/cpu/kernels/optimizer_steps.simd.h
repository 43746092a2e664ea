// The formulas of AdamW and Lion for a vector of elements, with states of any type. Each multiply-add is written as
// fma(), so the bits do not depend on the compiler, and equal those of a GPU.
#pragma once

#include "engine/backends/cpu/isa/simd.h"
#include "engine/backends/cpu/kernels/optimizer_kernels.h"

namespace hone::cpu::HONE_ISA {

HONE_INLINE void adamw_step(const AdamWScalars& s, F gradient, F& p, F& m, F& v) {
  const F g = fma(set1(s.l2), p, gradient * set1(s.gradient_scale));
  m = fma(g - m, set1(s.one_minus_beta1), m);
  v = fma(g * set1(s.one_minus_beta2), g, v * set1(s.beta2));
  const F denominator = sqrt(v) / set1(s.root_correction2) + set1(s.eps);
  p = fma(p, set1(s.decay), -(set1(s.step_size) * (m / denominator)));
}

HONE_INLINE void lion_step(const LionScalars& s, F gradient, F& p, F& m) {
  const F g = gradient * set1(s.gradient_scale);
  const F c = fma(set1(s.beta1), m, g * set1(s.one_minus_beta1));
  const F up = select(c > zero(), set1(s.lr), zero());
  const F down = select(c < zero(), set1(s.lr), zero());
  m = fma(set1(s.beta2), m, g * set1(s.one_minus_beta2));
  p = fma(p, set1(s.decay), down - up);
}

}  // namespace hone::cpu::HONE_ISA
