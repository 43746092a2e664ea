// remake: the node that computes the gradient of an activation also computes the activation again, so that the
// activation's result need not be kept after the forward pass.
//
//   %5, %6 = linear(%4, %w) {act="gelu_tanh", save_pre=true}   %5, %6 = linear(%4, %w) {act="gelu_tanh", save_pre=true}
//   ...                                                        ...
//   %20 = matmul(%5, %9) {trans_x=true}                    ->  %21, %30 = activation_grad(%6, %19) {remade=true}
//   %21 = activation_grad(%6, %19)                             %20 = matmul(%30, %9) {trans_x=true}
//
// The pass changes gradient ops that have attribute `remade`: those of activations, gates and norms. Other nodes of the
// backward pass that read the activation's result are moved after the gradient node. The gradient node reads the
// activation's operand anyway. In a layer of GPT-2, 10 * T * C elements are kept instead of 16 * T * C; the other
// 6 * T * C are written twice. The bits are the same if both kernels use the same formula, as on GPUs. Run the pass
// after narrow_values, before fuse_sums and placement passes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> remake(Program& p);

}  // namespace hone
