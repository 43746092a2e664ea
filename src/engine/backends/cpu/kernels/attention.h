// Fused attention over packed sequences of different lengths, without a T x T matrix in memory.
//
//   S = cap(scale * Q K^T) + bias  (masked)    P = softmax(S)
//   out = dropout(P) V                    lse = log sum exp S
//
// Sequence s has query tokens [cu_q[s], cu_q[s+1]) and key tokens [cu_k[s], cu_k[s+1]). Lq and Lk are
// its numbers of queries and keys, and o = Lk - Lq. Query i of the sequence sees its key j iff
//   (!causal || j <= i + o)  and  (window == 0 || (j > i + o - window and j < i + o + window)).
// cap(x) = c tanh(x / c) for a softcap c > 0; else cap(x) = x. A softcap and a bias exclude each other.
// A query that sees no key, and each row of out after the last sequence, gets out = 0 and lse = -inf.
// Dropout is decided by attention_dropout_word(key, sample_ids[s], first_head + head, i, j) (base/core/philox.h).
// The bias of head h for query i and key j is bias[h * (2 * reach - 1) + j - (i + o) + reach - 1];
// a sequence longer than reach is a bug.
// Query head h uses key head h / (heads / kv_heads). Strides are in floats; q, k and v may be parts
// of one buffer [T, 3C]. Results do not depend on the number of threads. The method is FlashAttention,
// Dao et al., arXiv 2205.14135 and 2307.08691.
#pragma once

#include <cstdint>

#include "base/core/philox.h"
#include "base/core/threads.h"

namespace hone::cpu {

// An array [tokens, heads, channels] with strides: element (t, h, d) is data[t * token + h * head + d].
template <class T>
struct Heads {
  T* data = nullptr;
  int64_t token = 0, head = 0;
};

struct Attention {
  int64_t sequences = 0;
  const int32_t* cu_q = nullptr;       // [sequences + 1]
  const int32_t* cu_k = nullptr;       // [sequences + 1]; the same array for self-attention
  int64_t tokens_q = 0, tokens_k = 0;  // rows of q and out, and of k and v
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  Heads<const float> q, k, v;
  float scale = 1;
  bool causal = false;
  int64_t window = 0;           // 0: none
  float softcap = 0;            // 0: none
  const float* bias = nullptr;  // [heads, 2 * reach - 1]
  int64_t reach = 0;            // 0: no bias
  double dropout = 0;           // probability of a drop
  int64_t first_head = 0;       // head number of head 0 for the dropout words
  DropoutKey key = {};
  const int64_t* sample_ids = nullptr;  // [sequences]; needed if dropout > 0
  Heads<float> out;                     // [tokens_q, heads, head_dim]
  float* lse = nullptr;                 // [heads, tokens_q]; may be null in forward
};

struct AttentionBackward {
  Attention forward;  // the arguments of attention(), with the out and lse that it made
  Heads<const float> dout;
  Heads<float> dq, dk, dv;  // overwritten, in every row
  float* dbias = nullptr;   // [heads, 2 * reach - 1], overwritten; Attention::scale must not be 0
};

// Workspaces must be 64-byte aligned. Their size depends on the number of threads and head_dim; with a bias also on the
// other sizes.
int64_t attention_workspace_bytes(const Attention& a, int threads);
void attention(const Attention& a, void* workspace, ThreadPool& pool);
int64_t attention_backward_workspace_bytes(const Attention& a, int threads);
void attention_backward(const AttentionBackward& b, void* workspace, ThreadPool& pool);

// Causal attention of the newest tokens of each sequence over a KV cache in pages. Sequence s has kv_length[s] cached
// tokens. Its queries [cu_q[s], cu_q[s+1]) are the last of these tokens. Channel d of head h of cached token j is at
//   data[block_table[s * blocks + j / page] * page_stride + (j % page) * token + h * head + d]
// with the data, token and head of k or v.
struct PagedAttention {
  int64_t sequences = 0;
  const int32_t* cu_q = nullptr;         // [sequences + 1]
  const int32_t* kv_length = nullptr;    // [sequences]
  const int32_t* block_table = nullptr;  // [sequences, blocks], numbers of pages
  // blocks: columns of block_table. page: tokens of a page. page_stride: floats from a page to the next.
  int64_t blocks = 0, page = 0, page_stride = 0;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  Heads<const float> q, k, v;
  float scale = 1, softcap = 0;
  int64_t window = 0;
  const float* bias = nullptr;  // as in Attention
  int64_t reach = 0;
  Heads<float> out;
  float* lse = nullptr;  // [heads, tokens_q] or null
  int64_t tokens_q = 0;  // rows of q and out
};
int64_t paged_attention_workspace_bytes(const PagedAttention& a, int threads);
void paged_attention(const PagedAttention& a, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
