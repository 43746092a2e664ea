// Kernels on matrices with one row for each token, in f32: rotary position embedding, token embeddings, softmax
// cross-entropy.
#pragma once

#include <cstdint>

#include "base/core/threads.h"
#include "engine/backends/cpu/kernels/attention.h"

namespace hone::cpu {

// Rotary position embedding (RoPE) of the first R channels of each head. The pair (u, w) of channels j and j + R/2, for
// j < R/2, becomes factor * (u cos a - w sin a, w cos a + u sin a) with a = position * inv_freq[j] in f32, as in
// Hugging Face's Llama. Channels from R on are copied. y may be x.
struct Rope {
  int64_t tokens = 0, heads = 0, head_dim = 0;
  int64_t rotary = 0;                  // R, even
  const float* inv_freq = nullptr;     // [R/2]
  const int32_t* positions = nullptr;  // [tokens]
  float factor = 1;
  // backward: rotates by -a. interleaved: pairs are channels 2j and 2j + 1.
  bool backward = false, interleaved = false;
  Heads<const float> x;
  Heads<float> y;
};
int64_t rope_workspace_bytes(int64_t rotary, int threads);
void rope(const Rope& r, void* workspace, ThreadPool& pool);

// out[t] = table[ids[t]] (+ table2[ids2[t]]). An id outside of its table counts as a row of zeros.
struct Embedding {
  int64_t tokens = 0, columns = 0, vocabulary = 0;
  const float* table = nullptr;  // [vocabulary, columns]
  const int32_t* ids = nullptr;  // [tokens]
  int64_t vocabulary2 = 0;
  const float* table2 = nullptr;  // [vocabulary2, columns] or null
  const int32_t* ids2 = nullptr;  // [tokens]
  float* out = nullptr;           // [tokens, columns]
};
void embedding(const Embedding& e, ThreadPool& pool);

// dtable[ids[t]] += dy[t]. Each row of dtable is summed in the order of t for any number of threads: tokens are sorted
// by id (stable), then added. Ids outside of the table are ignored.
int64_t embedding_gradient_workspace_bytes(int64_t tokens);
void embedding_gradient(int64_t tokens, int64_t columns, int64_t vocabulary, const int32_t* ids,
                        const float* dy, float* dtable, void* workspace, ThreadPool& pool);

// Replaces `count` elements x by softcap * tanh(x / softcap). slope receives the derivative, 1 - tanh(x / softcap)^2.
void cap(float softcap, int64_t count, float* x, float* slope, ThreadPool& pool);

constexpr int32_t kIgnoredLabel = -100;  // Hugging Face's label of tokens without a loss

// The negative log likelihood nll[r] = log sum exp(x[r]) - x[r][labels[r]] of each row. It is 0 in ignored rows, whose
// label is kIgnoredLabel or outside of the columns. Label smoothing e replaces the one-hot target by
// (1 - e) onehot + e / columns, in nll and in the gradient.
struct CrossEntropy {
  int64_t rows = 0, columns = 0;
  float* x = nullptr;  // logits [rows, ldx]
  int64_t ldx = 0;
  const int32_t* labels = nullptr;  // [rows]
  float scale = 1;                  // factor of the gradient
  const float* weights = nullptr;   // [rows], factors of each row's gradient; null: 1
  double smoothing = 0;             // e
  // true: replaces x by the gradient scale * weights[r] * (softmax(x) - target); ignored rows become 0.
  bool gradient = true;
  float* nll = nullptr;        // [rows]
  int32_t* correct = nullptr;  // [rows], 1 if the label is the argmax of x, else 0; or null
};
void cross_entropy(const CrossEntropy& c, ThreadPool& pool);

}  // namespace hone::cpu
