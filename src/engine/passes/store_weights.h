// store_weights: converts the weight matrices of linear ops to bf16 or i8, for inference. They then take less memory
// and are read faster.
//
//   linear(x, W : f32[N,K], ...) {trans_w}  ->  linear(x, W : i8[N,K], ..., scales : f32[N])
//
// W must be an f32 parameter whose readers are linear ops with equal trans_w. Embeddings may read W too, but only with
// trans_w, because an embedding needs a scale for each row. Other parameters stay f32. bf16 weights have no scales.
// With WeightStorage::bf16, the weights of grouped_matmul become bf16 too. With WeightStorage::i8 they stay f32,
// because grouped_matmul has no operand `scales`. The code that loads the weights (learn/pretrained) fills W and the
// scales. Run the pass only on programs without gradients, after the passes that fuse nodes.
#pragma once

#include <span>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

enum class WeightStorage { f32, bf16, i8 };

// The name of the state that holds a scale for each row (or each column) of an i8 weight.
std::string row_scales_name(const std::string& weight);     // weight + ".row_scales"
std::string column_scales_name(const std::string& weight);  // weight + ".column_scales"

Result<bool> store_weights(Program& p, WeightStorage as);

// Run it on all programs of a run after store_weights: they share their states. If store_weights has converted a
// parameter in one program, the other programs get the converted state too: those that do not read the parameter, and
// those that read it only by embedding, such as an encoder with tied embeddings.
void store_alike(std::span<Program> programs);

}  // namespace hone
