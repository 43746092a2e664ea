// differentiate: appends the nodes that compute the gradient of the scalar output "loss" with respect to each
// trainable parameter.
//
//   before                          output "loss" = %9
//   after     Gradients::values     an output "grad.<name>" for each trainable parameter: the gradient
//             Gradients::states     a state "grad.<name>" for each trainable parameter; its new version is the gradient
//                                   of this micro-batch, and the old version is not read
//             Gradients::sums       the same states; the new version is the old version + the gradient
//
// If several nodes read a parameter (tied weights), their contributions are added in the order in which the backward
// pass reaches the nodes. If `kept` is bf16 or f16, gradients of parameters with two or more dimensions have that type:
// each contribution is computed in f32, added in f32 to the sum so far, and the result is rounded, as PyTorch's
// autocast rounds the gradient of a product's weight. Parameters in `in_bf16` are still f32 when this pass runs. All
// their gradients have type `kept`, those of vectors too. Run the pass once, after fuse_forward (passes/fuse.h),
// because fused ops have gradients of their own. A program without a scalar output "loss" is a Bug.
#pragma once

#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

// "grad." + the parameter's name.
std::string grad_name(const std::string& parameter);

enum class Gradients { values, states, sums };

// The type of a parameter's gradient: dtype `kept` if the parameter is bf16, or f32 with two or more dimensions; else
// the parameter's type.
Type gradient_type(const Type& parameter, DType kept);

// in_bf16: names of the parameters that the pass narrow_weights will convert to bf16.
Result<bool> differentiate(Program& p, Gradients as, DType kept = DType::f32,
                           const std::set<std::string>& in_bf16 = {});

}  // namespace hone
