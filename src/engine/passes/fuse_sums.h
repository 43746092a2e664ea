// fuse_sums: the node that computes the gradient of a product's result also sums the rows of this gradient. The sum is
// the gradient of the product's bias.
//
//   %7 : bf16[T,C] = activation_grad(%3, %6)      %7 : bf16[T,C], %8 : f32[C] = activation_grad(%3, %6) {sums=true}
//   %8 : f32[C] = sum_rows(%7)               ->
//
// The pass changes ops that have attribute `sums`. The same rounded values are added in a different order. The pass is
// for devices whose kernels can add the rows that they write, so that no kernel reads the rows again. Run the pass
// after narrow_values, before placement passes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> fuse_sums(Program& p);

}  // namespace hone
