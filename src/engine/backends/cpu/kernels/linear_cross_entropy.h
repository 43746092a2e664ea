// The language-model head as one kernel: logits = x w^T + bias, nll and, with gradients, dx, dw and
// dbias, in chunks of rows so that the logits of all tokens never exist. Three matrix products;
// nothing recomputed.
#pragma once

#include <cstdint>

#include "base/core/threads.h"
#include "engine/backends/cpu/isa/element.h"

namespace hone::cpu {

struct Blocks;  // gemm/gemm.h

struct LinearCrossEntropy {
  int64_t tokens = 0, columns = 0, vocabulary = 0;  // T, C, V
  const float* x = nullptr;                         // [T, C]
  const void* w = nullptr;                          // [V, C]
  const float* bias = nullptr;                      // [V] or none
  const int32_t* labels = nullptr;                  // [T], kIgnoredLabel = none
  float scale = 1;                                  // of the gradients: 1 / normaliser
  const float* weights = nullptr;                   // [T] of the gradients; none: 1 each
  double smoothing = 0;                             // of the labels
  float softcap = 0;                                // logits z become c tanh(z / c); 0: they stay
  float* nll = nullptr;                             // [T]
  int32_t* correct = nullptr;  // [T] 1 if the label is the argmax of the logits, else 0; or null
  float* dx = nullptr;         // [T, C]; none = loss only
  float* dw = nullptr;         // [V, C]; none = not wanted (frozen)
  float* dbias = nullptr;      // [V]; none = not wanted
  bool accumulate_dw = false;
  bool bf16 = false, f16 = false;  // the operands of the three products are rounded to it
  Element w_type = Element::f32;   // or the type that operands are rounded to, or blocks:
  const Blocks* blocks = nullptr;  // w is their payload; dw is not wanted
  Element logits = Element::f32;   // that x w^T is rounded to, before the bias: bf16 or f16 too
};

// Rows whose logits exist at a time: 1024 for vocabularies to 65,536, fewer above; depends on the
// sizes only, so that sums do too.
int64_t linear_cross_entropy_chunk(int64_t tokens, int64_t vocabulary);
int64_t linear_cross_entropy_workspace_bytes(const LinearCrossEntropy& l, int threads);
void linear_cross_entropy(const LinearCrossEntropy& l, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
