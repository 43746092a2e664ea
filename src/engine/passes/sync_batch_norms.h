// sync_batch_norms: batch norms compute their statistics over the rows of all ranks (like PyTorch's SyncBatchNorm).
//
//   %4, %5, %6 = batch_norm(%x, ..)    ->  %20, %21 = column_moments(%x)
//                                          %22, %23 = all_gather(%20, %21) lane comm, then one mean and variance
//                                          %4, %5, %6 = batch_norm(%x, .., mean, variance)
//   %9, %10, %11 = batch_norm_grad(..) ->  %30, %31 = batch_norm_sums(..)
//                                          %32, %33 = all_reduce(%30, %31) lane comm
//                                          %9, .. = batch_norm_grad(.., %32, %33, count)
//
// `count` is the number of rows of all ranks.
//
// Means and variances of the ranks are combined in the order of ranks (T. Chan, G. Golub, R. LeVeque, "Updating
// Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979). Gradients of weights are still sums over
// this rank's rows. A batch norm may have an operand `rows`, the number of its rows. A cast of `rows` to f32 becomes
// the sum of `rows` over all ranks. Run the pass on every rank, after differentiate.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

Result<bool> sync_batch_norms(Program& p, const Share& ranks);

}  // namespace hone
