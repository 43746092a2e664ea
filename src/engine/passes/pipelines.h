// The order of the passes for each kind of program.
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

// The options of the passes of a training program.
struct TrainPasses {
  Precision precision = Precision::f32;  // of matrix products (precision.h)
  Recompute recompute = {};
  Offload offload = {};
  // The type of activations that the backward pass reads: f32, bf16 or f16 (store_activations.h).
  DType stored = DType::f32;
  // The type of gradients that wait for the update or are summed over micro-batches (differentiate.h): f32, bf16 or
  // f16.
  DType gradients = DType::f32;
  // True: activations that are too large for type `stored` become the type's largest value instead of an infinity.
  bool saturate = false;
  // Names of weights of which products read a 16-bit copy (compute_copies.h); empty: none.
  std::set<std::string> copies = {};
  // The type of the copies, to which products round their operands.
  DType copies_as() const { return precision == Precision::f16 ? DType::f16 : DType::bf16; }
  // True: Copies::resident, so the weight stays on the device, and the update writes its copy. False: Copies::apart.
  bool resident_copies = false;
  // True: Copies::halves, so the weight is in split form instead of having a resident bf16 copy. Has an effect only
  // with resident_copies, and only if the copies would be bf16.
  bool halves = false;
  Copies kind_of_copies() const {
    if (!resident_copies) return Copies::apart;
    return halves && copies_as() == DType::bf16 ? Copies::halves : Copies::resident;
  }
  // True: the device is faster with values in 16 bits (DeviceSpec::keeps_narrow). A CPU is not: its kernels compute in
  // f32, and casts cost more time than moving fewer bytes saves.
  bool keeps_narrow = false;
  // Whether narrow_values (narrow_values.h) runs.
  bool narrows() const {
    return keeps_narrow && precision != Precision::f32 && stored == copies_as() && !saturate;
  }
  // Whether products may sum gradients of biases in their epilogue (fuse_slopes.h), which rounds the sums. Must be
  // false if gradients are summed over micro-batches or data-parallel units: all programs of such a run must compute
  // the same sums, bit for bit.
  bool fuses_slopes = false;
  // Names of weights that are bf16 without an f32 copy (narrow_weights.h); empty: none.
  std::set<std::string> in_bf16 = {};
  // ZeRO stage 3 (shard.h): each rank holds some rows of the weights. `copies` are then ignored.
  Sharding sharding = {};
  // Tensor parallelism (tensor_split.h).
  TensorSplit tensor = {};
  // The data-parallel axis of a mesh of ranks. Passes number the ranks of the axis 0, 1, ...; a last pass changes the
  // collectives so that rank i of the axis is rank first + i * stride of the run. ranks: the number of ranks of the
  // axis; 0: the axis is all ranks of the run.
  struct Axis {
    int64_t ranks = 0, first = 0, stride = 1;
  };
  Axis data = {};
  // Ranks that hold equal values and divide the rows of products among themselves (divide_rows.h).
  RowDivision division = {};
  // Ranks over which batch norms compute their statistics (sync_batch_norms.h); default: this rank alone.
  Share sync = {};
};

// A whole optimizer step of one micro-batch: forward, backward, update. `update` is a pass that removes the outputs
// "grad.<parameter>" and writes new versions of the parameters and of the optimizer's states.
std::vector<Pass> step_pipeline(std::function<Result<bool>(Program&)> update,
                                const TrainPasses& how = {});
// The forward and backward pass of one micro-batch. The gradients are states "grad.<parameter>". `accumulate` true:
// gradients are added to the states' old values; false: they replace the old values. `share`, if given: a pass for
// data-parallel ranks. It removes the outputs "grad.<parameter>", exchanges the gradients, and writes them to the
// states or adds them; `accumulate` then has no effect.
std::vector<Pass> train_pipeline(bool accumulate, const TrainPasses& how = {},
                                 std::function<Result<bool>(Program&)> share = {});
// A program that only updates parameters. It reads the gradients from states.
std::vector<Pass> update_pipeline(const TrainPasses& how = {});
// A program without gradients, for evaluation and generation.
std::vector<Pass> forward_pipeline(WeightStorage weights = WeightStorage::f32,
                                   const TrainPasses& how = {});

}  // namespace hone
