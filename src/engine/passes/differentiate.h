// differentiate: appends the gradient of the scalar output "loss" with respect to every trainable
// parameter.
//
//   before   output "loss" = %9                     (parameters are states of role param)
//   after    as values  output "grad.<name>" per trainable parameter: the gradient
//            as states  state "grad.<name>" per trainable parameter, whose new version is the
//                       gradient of this micro-batch (the old version is not read)
//            as sums    the same, and its new version is the old one + the gradient
//
// Contributions to one parameter (ties) are added in the order in which the backward visit meets
// them. With `kept` in bf16 or f16 the gradient of a parameter that is not a vector is kept in that
// type: each contribution is made in f32, what there was is added to it in f32, and the sum is
// rounded, as the autocast of PyTorch rounds the gradient of a product's weight. Parameters that
// narrow_weights will keep in bf16 are f32 here; their gradients are in `kept`, vectors too. Must
// run after fuse-forward (composites keep their own gradients) and once only.
#pragma once

#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

// "grad." + the parameter's name.
std::string grad_name(const std::string& parameter);

enum class Gradients { values, states, sums };

// The type that the gradient of a parameter is kept in: `kept` for one in bf16, and for f32 of two
// dimensions and more.
Type gradient_type(const Type& parameter, DType kept);

// in_bf16: the parameters that narrow_weights keeps in bf16.
Result<bool> differentiate(Program& p, Gradients as, DType kept = DType::f32,
                           const std::set<std::string>& in_bf16 = {});

}  // namespace hone
