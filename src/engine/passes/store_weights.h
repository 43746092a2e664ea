// store_weights: converts the weight matrices of linear ops to bf16 or i8, for inference. They then take less memory
// and are read faster.
//
//   linear(x, W : f32[N,K], ...) {trans_w}  ->  linear(x, W : i8[N,K], ..., scales : f32[N])
//
// W must be an f32 parameter whose readers are linear ops with equal trans_w, and possibly embeddings (only with
// trans_w, because an embedding needs a scale for each row). Other parameters stay f32. bf16 weights have no scales.
// The weights of grouped_matmul, which has no operand `scales`, also become bf16, but stay f32 for WeightStorage::i8.
// The code that loads the weights (learn/pretrained) fills W and the scales. Run it as the last numeric pass: the
// program then has no gradient.
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

// Run it after store_weights on all programs of a run, which share their states. If a program has converted a
// parameter, programs that do not read it, or read it only by embedding, get the converted state. An encoder with tied
// embeddings is such a program.
void store_alike(std::span<Program> programs);

}  // namespace hone
