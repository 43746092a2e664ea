// The order of passes, in one place.
#pragma once

#include <vector>

#include "engine/passes/compute_copies.h"
#include "engine/passes/divide_rows.h"
#include "engine/passes/narrow_values.h"
#include "engine/passes/narrow_weights.h"
#include "engine/passes/offload.h"
#include "engine/passes/pass.h"
#include "engine/passes/precision.h"
#include "engine/passes/recompute.h"
#include "engine/passes/shard.h"
#include "engine/passes/store_activations.h"
#include "engine/passes/store_weights.h"
#include "engine/passes/sync_batch_norms.h"
#include "engine/passes/tensor_split.h"

namespace hone {

// The precision, recomputation and places of a training program.
struct TrainPasses {
  Precision precision = Precision::f32;
  Recompute recompute = {};
  Offload offload = {};
  DType stored = DType::f32;  // what activations wait for the backward pass in: bf16 or f16 too
  // The type of gradients that wait for the update, and for the gradients of the next micro-batch.
  DType gradients = DType::f32;
  bool saturate = false;  // activations too large for `stored` wait as its largest value
  // Weights whose products read a copy in the type that they round to (compute_copies); empty:
  // none.
  std::set<std::string> copies = {};
  DType copies_as() const { return precision == Precision::f16 ? DType::f16 : DType::bf16; }
  // Copies are written by the node that updates the weight, which stays on the device.
  bool resident_copies = false;
  // Instead of resident copies in bf16: weights are kept as halves.
  bool halves = false;
  Copies kind_of_copies() const {
    if (!resident_copies) return Copies::apart;
    return halves && copies_as() == DType::bf16 ? Copies::halves : Copies::resident;
  }
  // Values are kept in the type that products round to (narrow_values), if nothing else hinders it. A
  // CPU's kernels compute in f32, so casts would cost it more than the bytes.
  bool keeps_narrow = false;
  bool narrows() const {
    return keeps_narrow && precision != Precision::f32 && stored == copies_as() && !saturate;
  }
  // Products may sum gradients of biases in their epilogue (fuse_slopes). Not if gradients are added over micro-batches or
  // units: each program of such a run makes the same sums, to the bit.
  bool fuses_slopes = false;
  // Weights that are kept in bf16 alone (narrow_weights); empty: none.
  std::set<std::string> in_bf16 = {};
  // Rows of weights on each rank. There are no copies then: a copy would be whole on every rank.
  Sharding sharding = {};
  // Products that ranks divide.
  TensorSplit tensor = {};
  // The axis of ranks that have the same parts and share rows: collectives among them, which the passes before made
  // for ranks 0, 1, ..., are between ranks first, first + stride, ... of the run. ranks 0: all ranks.
  struct Axis {
    int64_t ranks = 0, first = 0, stride = 1;
  };
  Axis data = {};
  // Ranks that have the same rows and divide those of products, so that no bit depends on their number.
  RowDivision division = {};
  Share sync = {};  // ranks whose rows batch norms take their statistics of
};

// A whole optimizer step of one micro-batch: forward, backward, update. `update` is a pass that
// takes the outputs "grad.<parameter>" away and writes new versions of the parameters.
std::vector<Pass> step_pipeline(std::function<Result<bool>(Program&)> update,
                                const TrainPasses& how = {});
// Forward and backward of one micro-batch. accumulate: gradients are added to those there are.
// `share`: a pass that takes the outputs "grad.<parameter>" away and makes, or adds to, their states,
// for gradients that ranks share.
std::vector<Pass> train_pipeline(bool accumulate, const TrainPasses& how = {},
                                 std::function<Result<bool>(Program&)> share = {});
// The update of gradients that are states.
std::vector<Pass> update_pipeline(const TrainPasses& how = {});
// Evaluation and generation.
std::vector<Pass> forward_pipeline(WeightStorage weights = WeightStorage::f32,
                                   const TrainPasses& how = {});

}  // namespace hone
