// Fused attention over packed sequences of different lengths; no T x T matrix is ever made.
//
//   S = cap(scale * Q K^T) + bias  (masked)    P = softmax(S)
//   out = dropout(P) V                    lse = log sum exp S
//
// Sequence s owns query tokens [cu_q[s], cu_q[s+1]) and key tokens [cu_k[s], cu_k[s+1]). With
// Lq, Lk its lengths and o = Lk - Lq, query i may see key j iff
//   (!causal || j <= i + o)  and  (window == 0 || (j > i + o - window and j < i + o + window)).
// softcap c > 0: cap(x) = c tanh(x / c), without a bias; else cap(x) = x.
// A query that sees no key gets out = 0, lse = -inf. Tokens after the last sequence get zeros.
// Dropout words: attention_dropout_word(key, sample_ids[s], first_head + head, i, j) (base/core/philox.h).
// The bias of head h for query i and key j is bias[h * (2 * reach - 1) + j - (i + o) + reach - 1];
// no sequence may be longer than reach (a bug otherwise).
// Query head h uses key head h / (heads / kv_heads). Strides are in floats; q, k, v may be slices
// of one [T, 3C] buffer. Neither forward nor backward depends on the number of threads. Method: Dao
// et al., FlashAttention, arXiv 2205.14135 and 2307.08691.
#pragma once

#include <cstdint>

#include "base/core/philox.h"
#include "base/core/threads.h"

namespace hone::cpu {

template <class T>
struct Heads {  // element (token t, head h, channel d) is at data[t * token + h * head + d]
  T* data = nullptr;
  int64_t token = 0, head = 0;
};

struct Attention {
  int64_t sequences = 0;
  const int32_t* cu_q = nullptr;       // [sequences + 1]
  const int32_t* cu_k = nullptr;       // [sequences + 1]; the same array for self-attention
  int64_t tokens_q = 0, tokens_k = 0;  // rows of the buffers
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  Heads<const float> q, k, v;
  float scale = 1;
  bool causal = false;
  int64_t window = 0;
  float softcap = 0;
  const float* bias = nullptr;  // [heads, 2 * reach - 1]
  int64_t reach = 0;            // 0: no bias
  double dropout = 0;
  int64_t first_head = 0;  // number of head 0 in dropout words
  DropoutKey key = {};
  const int64_t* sample_ids = nullptr;  // [sequences], needed when dropout > 0
  Heads<float> out;                     // [tokens_q, heads, head_dim]
  float* lse = nullptr;                 // [heads, tokens_q]; may be null in forward
};

struct AttentionBackward {
  Attention forward;  // as it was called, with out and lse
  Heads<const float> dout;
  Heads<float> dq, dk, dv;  // written (=), every row of the buffers
  float* dbias = nullptr;   // [heads, 2 * reach - 1], written; needs a scale other than 0
};

// 64-byte aligned workspace; depends on threads and head_dim, with a bias on all sizes.
int64_t attention_workspace_bytes(const Attention& a, int threads);
void attention(const Attention& a, void* workspace, ThreadPool& pool);
int64_t attention_backward_workspace_bytes(const Attention& a, int threads);
void attention_backward(const AttentionBackward& b, void* workspace, ThreadPool& pool);

// A few new queries a sequence against cached keys and values in pages. Sequence s has kv_length[s]
// cached tokens (the new ones among them); its queries [cu_q[s], cu_q[s+1]) are the last ones.
// Cached token j, head h, channel d is at
//   cache[block_table[s * blocks + j / page] * page_stride + (j % page) * token + h * head + d].
struct PagedAttention {
  int64_t sequences = 0;
  const int32_t* cu_q = nullptr;
  const int32_t* kv_length = nullptr;    // [sequences]
  const int32_t* block_table = nullptr;  // [sequences, blocks]
  int64_t blocks = 0, page = 0, page_stride = 0;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  Heads<const float> q, k, v;  // k and v: strides inside a page
  float scale = 1, softcap = 0;
  int64_t window = 0;
  const float* bias = nullptr;  // as in Attention
  int64_t reach = 0;
  Heads<float> out;
  float* lse = nullptr;  // [heads, tokens_q], or none
  int64_t tokens_q = 0;
};
int64_t paged_attention_workspace_bytes(const PagedAttention& a, int threads);
void paged_attention(const PagedAttention& a, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
