// fuse_slopes: fuses a matrix product and the activation_grad node that reads the product's result. The fused node
// multiplies the product's result by the activation's derivative.
//
//   %7 : bf16[T,F] = linear(%3, %w) {trans_w=true}     %8 : bf16[T,F], %9 : f32[F] =
//   %8 : bf16[T,F], %9 : f32[F] =                   ->     linear_activation_grad(%3, %w, %6)
//       activation_grad(%6, %7) {sums=true}                    {sums=true, trans_w=true}
//
// Attribute `sums` adds a result: the sums of the columns of the first result, for the gradient of a bias
// (fuse_sums.h).
//
// The product's result must have no other reader. The pass is for gelu_tanh in bf16: cuBLASLt can multiply by its
// derivative in a product's epilogue (DGELU, with BGRAD for the sums), so the value between the two nodes is neither
// written nor read. A device without this epilogue runs two kernels as before. The epilogue rounds sums to bf16, so the
// pass is only for some programs (TrainPasses::fuses_slopes). Run the pass after remake and fuse_sums, before placement
// passes.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> fuse_slopes(Program& p);

}  // namespace hone
