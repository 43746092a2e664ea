// store_weights: the matrices of linear ops are kept in fewer bits, for inference; memory then
// gives them faster.
//
//   linear(x, W : f32[N,K], ...) {trans_w}  ->  linear(x, W : i8[N,K], ..., scales : f32[N])
//
// W is a parameter that linear reads, always in the same orientation, and at most embedding beside
// it (as scales go by rows, with trans_w); other parameters stay f32. bf16 has no scales. The matrices of products
// that read a stored weight without scales, grouped_matmul, are kept in bf16 too; in place of i8 they stay f32. The
// code that loads the weights fills both states (learn/pretrained). Must come last: the result has
// no gradient.
#pragma once

#include <span>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

enum class WeightStorage { f32, bf16, i8 };

// The state with a scale for each row, or each column, of the i8 matrix of that name.
std::string row_scales_name(const std::string& weight);     // weight + ".row_scales"
std::string column_scales_name(const std::string& weight);  // weight + ".column_scales"

Result<bool> store_weights(Program& p, WeightStorage as);

// Runs after store_weights on the programs of one run, which share their states. If one program
// keeps a parameter in fewer bits, programs that do not read it, or read it only by embedding, get
// the same state. An encoder with tied embeddings is such a program.
void store_alike(std::span<Program> programs);

}  // namespace hone
