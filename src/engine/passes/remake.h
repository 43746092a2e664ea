// remake: the gradient of an activation makes the activation again, so that the forward pass need not keep it.
//
//   %5, %6 = linear(%4, %w) {act="gelu_tanh", save_pre=true}     %5, %6 = linear(%4, %w) {act="gelu_tanh", save_pre=true}
//   ...                                                          ...
//   %20 = matmul(%5, %9) {trans_x=true}                      ->  %21, %30 = activation_grad(%6, %19) {remade=true}
//   %21 = activation_grad(%6, %19)                               %20 = matmul(%30, %9) {trans_x=true}
//
// For activations of products, for gates and norms: gradients with attribute `remade`. Other nodes of the backward pass that
// read the activation move to the place after the gradient. The kernel reads the operand of the activation anyway: a
// layer of GPT-2 keeps 10 units of [T,C] instead of 16, for one more write of 6. The bits are the same if both
// kernels have the same formula, as on GPUs. After narrow_values; before fuse_sums and what places values.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> remake(Program& p);

}  // namespace hone
