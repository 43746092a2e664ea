// fuse_slopes: a product whose result only an activation's gradient reads multiplies by the slope itself.
//
//   %7 : bf16[T,F] = linear(%3, %w) {trans_w=true}     %8 : bf16[T,F], %9 : f32[F] =
//   %8 : bf16[T,F], %9 : f32[F] =                   ->     linear_activation_grad(%3, %w, %6)
//       activation_grad(%6, %7) {sums=true}                    {sums=true, trans_w=true}
//
// For gelu_tanh in bf16, which cuBLASLt has as an epilogue (DGELU, with BGRAD for the sums): the gradient of the
// activation is neither written nor read. A device without the epilogue runs the two kernels of before. The
// epilogue rounds sums to bf16, so the pass is for programs of whole steps (TrainPasses::fuses_slopes). After remake and
// fuse_sums; before what places values.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> fuse_slopes(Program& p);

}  // namespace hone
