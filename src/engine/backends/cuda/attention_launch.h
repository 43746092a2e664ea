// Code that the launches of attention (launch_attention.cc, launch_flash.cc) share.
#pragma once

#include "engine/backends/cuda/launch_tables.h"
#include "engine/ops/attention_parts.h"

namespace hone::cuda {

// tiles: computes in f32 without tensor cores (attention.cuh). warps: tensor cores, operands of any type
// (warp_attention.cuh). flash: tensor cores, operands in bf16 or f16 (flash_attention.cuh).
enum class AttentionKernels { tiles, warps, flash };

// The kernels that attention and its gradient use for a node, and their common arguments.
struct AttentionLaunch {
  AttentionDims dims;
  Attention arguments;
  int size;  // channels of a head that the kernels are compiled for: dims.size rounded up to 64 or 128
  // Byte offsets of the keys and of the values in a row of a fused operand q, which holds queries, keys and values;
  // 0 if q is not fused.
  int64_t k_at = 0, v_at = 0;
  bool is_random = false;  // has dropout
  AttentionKernels kernels = AttentionKernels::tiles;
  std::string types = {};  // element types in the kernels' names, such as "f32_as_bf16"
  std::string note = {};   // reason why tensor cores are not used; "": they are
};

inline int64_t tiles_of(int64_t tokens, int64_t tile) { return (tokens + tile - 1) / tile; }
// Adds the operand of this name as an argument; a null pointer if the node has none, or `wanted` is false.
void add_optional(Launch& l, const NodeView& n, const char* operand, bool wanted = true);
// Adds the operands q, k and v as arguments.
void add_qkv(Launch& l, const NodeView& n, const AttentionLaunch& d);
// Adds the operands rng, sample_ids and bias as arguments; null pointers for those that are not used.
void add_random(Launch& l, const NodeView& n, const AttentionLaunch& d);
// Makes the launch that sums the gradient of the bias: dbias is the sum over the rows of f32[tiles, bias_columns(d)],
// which begins `parts` bytes into the workspace.
Launch sum_bias_parts(const AttentionLaunch& d, int64_t parts, int64_t tiles);
// The number of elements of the relative-position bias, for all heads together; 0: there is no bias.
int64_t bias_columns(const AttentionLaunch& d);

}  // namespace hone::cuda
