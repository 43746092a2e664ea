// Activation functions and their derivatives on vectors. forward(x) is the function; backward(x, dy) is dy times the
// derivative at x.
//   gelu_tanh(x) = x/2 (1 + tanh u) = x sigmoid(2u), with u = sqrt(2/pi) (x + 0.044715 x^3)
//   gelu_erf(x)  = x Phi(x), with Phi(x) = (1 + erf(x/sqrt 2)) / 2
#pragma once

#include "engine/backends/cpu/isa/simd.h"

namespace hone::cpu::HONE_ISA {

HONE_INLINE F sigmoid(F x) { return set1(1.0f) / (set1(1.0f) + exp(-x)); }

// erf(x) with an absolute error below 2e-7.
HONE_INLINE F erf(F x) {
  const F q = x * x;
  // |x| < 1: x * polynomial in x^2
  F p = set1(7.853861353153693e-5f);
  p = fma(p, q, set1(-8.010193625184903e-4f));
  p = fma(p, q, set1(5.188327685732524e-3f));
  p = fma(p, q, set1(-2.685381193529856e-2f));
  p = fma(p, q, set1(1.128358514861418e-1f));
  p = fma(p, q, set1(-3.761262582423300e-1f));
  p = fma(p, q, set1(1.128379165726710f));
  const F near = p * x;
  // else: 1 - t (a1 + ... a5 t^4) e^-x^2, t = 1/(1 + 0.3275911 |x|)
  const F a = max(x, -x);
  const F t = set1(1.0f) / fma(a, set1(0.3275911f), set1(1.0f));
  F s = set1(1.061405429f);
  s = fma(s, t, set1(-1.453152027f));
  s = fma(s, t, set1(1.421413741f));
  s = fma(s, t, set1(-0.284496736f));
  s = fma(s, t, set1(0.254829592f));
  const F far = set1(1.0f) - s * t * exp(-q);
  return select(q < set1(1.0f), near, select(x < zero(), -far, far));
}

struct GeluTanh {
  static HONE_INLINE F u2(F x) {  // 2u
    return x * fma(x * x, set1(2 * 0.7978845608028654f * 0.044715f), set1(2 * 0.7978845608028654f));
  }
  static HONE_INLINE F forward(F x) { return x * sigmoid(u2(x)); }
  static HONE_INLINE F backward(F x, F dy) {  // s + x s (1 - s) d(2u)/dx
    const F s = sigmoid(u2(x));
    const F du =
        fma(x * x, set1(6 * 0.7978845608028654f * 0.044715f), set1(2 * 0.7978845608028654f));
    return dy * fma(x * s * (set1(1.0f) - s), du, s);
  }
};
struct GeluErf {
  static HONE_INLINE F phi(F x) {
    return fma(erf(x * set1(0.70710678118654752f)), set1(0.5f), set1(0.5f));
  }
  static HONE_INLINE F forward(F x) { return x * phi(x); }
  static HONE_INLINE F backward(F x, F dy) {
    const F density = set1(0.39894228040143268f) * exp(x * x * set1(-0.5f));
    return dy * fma(x, density, phi(x));
  }
};
struct Silu {
  static HONE_INLINE F forward(F x) { return x * sigmoid(x); }
  static HONE_INLINE F backward(F x, F dy) {
    const F s = sigmoid(x);
    return dy * s * fma(x, set1(1.0f) - s, set1(1.0f));
  }
};
struct Relu {
  static HONE_INLINE F forward(F x) { return max(x, zero()); }
  static HONE_INLINE F backward(F x, F dy) { return select(x > zero(), dy, zero()); }
};

}  // namespace hone::cpu::HONE_ISA
