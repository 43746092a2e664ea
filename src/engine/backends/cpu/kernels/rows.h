// Kernels over token rows: rotary positions, embeddings, softmax cross-entropy. f32.
#pragma once

#include <cstdint>

#include "base/core/threads.h"
#include "engine/backends/cpu/kernels/attention.h"

namespace hone::cpu {

// Rotary position embedding, halves as in Hugging Face's Llama: for j < R/2, a = position *
// inv_freq[j] (f32), (y_j, y_{j+R/2}) = factor * (x_j cos a - x_{j+R/2} sin a, x_{j+R/2} cos a +
// x_j sin a); channels from R on are copied. Interleaved: of channels 2j and 2j + 1. Backward
// rotates by -a. y may be x.
struct Rope {
  int64_t tokens = 0, heads = 0, head_dim = 0;
  int64_t rotary = 0;                  // R, even
  const float* inv_freq = nullptr;     // [R/2]
  const int32_t* positions = nullptr;  // [tokens]
  float factor = 1;
  bool backward = false, interleaved = false;
  Heads<const float> x;
  Heads<float> y;
};
int64_t rope_workspace_bytes(int64_t rotary, int threads);
void rope(const Rope& r, void* workspace, ThreadPool& pool);

// out[t] = table[ids[t]] (+ table2[ids2[t]]). Ids outside the table give a row of zeros.
struct Embedding {
  int64_t tokens = 0, columns = 0, vocabulary = 0;
  const float* table = nullptr;  // [vocabulary, columns]
  const int32_t* ids = nullptr;  // [tokens]
  int64_t vocabulary2 = 0;
  const float* table2 = nullptr;  // or none
  const int32_t* ids2 = nullptr;
  float* out = nullptr;  // [tokens, columns]
};
void embedding(const Embedding& e, ThreadPool& pool);

// dtable[ids[t]] += dy[t], in the order of t for each row whatever the thread count: a stable sort
// of the tokens by id, then a sum over each run. Ids outside the table are left out.
int64_t embedding_gradient_workspace_bytes(int64_t tokens);
void embedding_gradient(int64_t tokens, int64_t columns, int64_t vocabulary, const int32_t* ids,
                        const float* dy, float* dtable, void* workspace, ThreadPool& pool);

// x = softcap tanh(x / softcap), slope = 1 - tanh(x / softcap)^2, `count` elements.
void cap(float softcap, int64_t count, float* x, float* slope, ThreadPool& pool);

constexpr int32_t kIgnoredLabel = -100;

// nll[r] = log sum exp(x[r]) - x[r][labels[r]], 0 where the label is kIgnoredLabel (or outside the
// columns). With gradient, x becomes scale weights[r] (softmax(x) - onehot), zeros where ignored. With
// smoothing e the label stands for (1-e) onehot + e / columns in both.
struct CrossEntropy {
  int64_t rows = 0, columns = 0;
  float* x = nullptr;  // [rows, ldx]
  int64_t ldx = 0;
  const int32_t* labels = nullptr;
  float scale = 1;
  const float* weights = nullptr;  // [rows]; none: 1 each
  double smoothing = 0;
  bool gradient = true;
  float* nll = nullptr;        // [rows]
  int32_t* correct = nullptr;  // [rows] 1 if the label is the argmax of x, else 0; or null
};
void cross_entropy(const CrossEntropy& c, ThreadPool& pool);

}  // namespace hone::cpu
