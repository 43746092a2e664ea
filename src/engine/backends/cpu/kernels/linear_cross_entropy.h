// The language-model head as one kernel: the logits x w^T + bias, the negative log likelihood (nll) of the
// labels, and the gradients dx, dw and dbias. It works on chunks of tokens (rows of x), so the logits of all tokens
// are never in memory at once. It computes three matrix products and recomputes nothing.
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
  const float* bias = nullptr;                      // [V] or null
  const int32_t* labels = nullptr;  // [T]; kIgnoredLabel (rows.h): the token is ignored
  float scale = 1;                  // factor of the gradients
  const float* weights = nullptr;   // [T], factors of each token's gradients; null: 1
  double smoothing = 0;             // label smoothing
  float softcap = 0;                // c > 0: logits z become c tanh(z / c)
  float* nll = nullptr;             // [T]
  int32_t* correct = nullptr;  // [T], 1 if the label is the argmax of the logits, else 0; or null
  float* dx = nullptr;         // [T, C]; null: not wanted
  float* dw = nullptr;         // [V, C]; null: not wanted (w is frozen)
  float* dbias = nullptr;      // [V]; null: not wanted
  bool accumulate_dw = false;  // add to dw instead of overwriting it
  bool bf16 = false, f16 = false;  // round the operands of the products to bf16 or f16
  Element w_type = Element::f32;   // f32, the type that operands are rounded to, or blocks
  const Blocks* blocks = nullptr;  // the format if w_type is blocks; w is the payload, dw is null
  Element logits = Element::f32;   // f32, bf16 or f16: x w^T is rounded to it, then bias is added
};

// The number of tokens of a chunk: 1024 for vocabularies up to 65,536, fewer for larger ones. It depends on the
// sizes alone, so the order of sums does too.
int64_t linear_cross_entropy_chunk(int64_t tokens, int64_t vocabulary);
int64_t linear_cross_entropy_workspace_bytes(const LinearCrossEntropy& l, int threads);
void linear_cross_entropy(const LinearCrossEntropy& l, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
