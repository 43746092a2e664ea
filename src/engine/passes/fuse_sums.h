// fuse_sums: the gradient of a bias is summed by the node that makes the gradient of its product.
//
//   %7 : bf16[T,C] = activation_grad(%3, %6)      %7 : bf16[T,C], %8 : f32[C] = activation_grad(%3, %6) {sums=true}
//   %8 : f32[C] = sum_rows(%7)               ->
//
// For ops with attribute `sums`. The sum is over the same rounded values, in another order: the pass is for devices
// whose kernels add the rows that they write, which saves reading them once more. After narrow_values; before what
// places values.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> fuse_sums(Program& p);

}  // namespace hone
