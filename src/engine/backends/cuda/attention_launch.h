// Parts that the files with launches of attention share.
#pragma once

#include "engine/backends/cuda/launch_tables.h"
#include "engine/ops/attention_parts.h"

namespace hone::cuda {

// Kernels: tiles in f32 (attention.cuh), tensor cores with operands of any type (warp_attention.cuh), tensor cores
// with operands in 16 bits (flash_attention.cuh).
enum class AttentionKernels { tiles, warps, flash };

// Arguments that attention and its gradient both give to their kernels, and the offsets of the parts of a fused q.
struct AttentionLaunch {
  AttentionDims dims;
  Attention arguments;
  int size;  // of the kernels: the next of 64 and 128
  int64_t k_at = 0, v_at = 0;
  bool is_random = false;
  AttentionKernels kernels = AttentionKernels::tiles;
  std::string types = {};  // in the names of kernels
  std::string note = {};   // why not on tensor cores
};

inline int64_t tiles_of(int64_t tokens, int64_t tile) { return (tokens + tile - 1) / tile; }
// An operand, or null.
void add_optional(Launch& l, const NodeView& n, const char* operand, bool wanted = true);
// The operands q, k and v.
void add_qkv(Launch& l, const NodeView& n, const AttentionLaunch& d);
// The operands rng, sample_ids and bias.
void add_random(Launch& l, const NodeView& n, const AttentionLaunch& d);
// The last of a gradient: dbias is the sum of the parts of `tiles` at `parts` in the workspace.
Launch sum_bias_parts(const AttentionLaunch& d, int64_t parts, int64_t tiles);
// The biases of all heads; 0: there are none.
int64_t bias_columns(const AttentionLaunch& d);

}  // namespace hone::cuda
