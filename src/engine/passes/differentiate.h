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
// them. Must run after fuse-forward (composites keep their own gradients) and once only.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// "grad." + the parameter's name.
std::string grad_name(const std::string& parameter);

enum class Gradients { values, states, sums };

Result<bool> differentiate(Program& p, Gradients as);

}  // namespace hone
