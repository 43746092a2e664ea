// Disentangled attention (He et al., DeBERTa, arXiv 2006.03654) over packed sequences of different
// lengths. For queries i and keys j of a sequence, with r = row_of[i - j + reach - 1],
//
//   S_ij = scale (q_i . k_j + q_i . position_keys_r + k_j . position_queries_r)    P = softmax(S)
//   out = dropout(P) V                                                            lse = log sum exp S
//
// Products with rows of position_keys and position_queries are made only for the rows that a sequence
// uses. Tokens after the last sequence get zeros, and an lse of -inf. Dropout is decided by
// attention_dropout_word(key, sample_ids[s], first_head + head, i, j) (base/core/philox.h). Results do
// not depend on the number of threads.
#pragma once

#include <cstdint>

#include "base/core/philox.h"
#include "base/core/threads.h"

namespace hone::cpu {

struct Disentangled {
  int64_t sequences = 0, tokens = 0, heads = 0, head_dim = 0;
  int64_t first_head = 0;       // added to a head's number in dropout words
  int64_t rows = 0, reach = 0;  // rows: of the position tables. reach: the longest sequence allowed
  const int32_t* cu = nullptr;  // [sequences + 1], the first token of each sequence and the end
  const float *q = nullptr, *k = nullptr, *v = nullptr;  // [tokens, heads * head_dim]
  // [rows, heads * head_dim] each. One of the two may be null: its term of S_ij is then left out.
  const float *position_keys = nullptr, *position_queries = nullptr;
  const int32_t* row_of = nullptr;  // [2 * reach - 1]
  float scale = 1;
  double dropout = 0;  // probability of a drop
  DropoutKey key = {};
  const int64_t* sample_ids = nullptr;  // [sequences]; needed if dropout > 0
  float* out = nullptr;                 // [tokens, heads * head_dim]
  float* lse = nullptr;                 // [heads, tokens]
};

struct DisentangledBackward {
  Disentangled forward;  // the arguments of disentangled(), with its results out and lse
  const float* dout = nullptr;
  float *dq = nullptr, *dk = nullptr, *dv = nullptr;  // overwritten
  // Overwritten; null if the forward pass had no such table.
  float *dposition_keys = nullptr, *dposition_queries = nullptr;
};

// Workspaces must be 64-byte aligned.
int64_t disentangled_workspace_bytes(const Disentangled& a, int threads);
void disentangled(const Disentangled& a, void* workspace, ThreadPool& pool);
int64_t disentangled_backward_workspace_bytes(const Disentangled& a, int threads);
void disentangled_backward(const DisentangledBackward& b, void* workspace, ThreadPool& pool);

}  // namespace hone::cpu
