// The update of weights that several ranks train together. Each rank has the gradients of its own rows of a step;
// afterwards all ranks have the same weights, bit for bit. The stages are those of ZeRO (Rajbhandari et al., arXiv
// 1910.02054):
//
//   stage 0   The gradients are summed over the ranks (all_reduce), and every rank updates every weight.
//   stage 1   Each rank gets the sums of some rows of each weight (reduce_scatter). It has the optimizer states of only
//             these rows, updates these rows and sends them to the other ranks (all_gather).
//   stage 2   As stage 1. Gradients that are kept from one micro-batch to the next are also divided into rows: the sums
//             over ranks are made in each micro-batch (share_gradients).
//   stage 3   As stage 2. Each rank also keeps only its rows of the weights (engine/passes/shard.h).
//
// With UpdateOptions::replica, consecutive ranks form groups (MiCS). The ranks of a group divide the states as above.
// Once in a step, each rank adds its rows to those of the same rank in the other groups (all_reduce).
//
// Sums over ranks are made in the order of the ranks; with groups, first within a group, then over groups. All stages
// give the same bits, with one exception: stages 2 and 3 sum over the ranks first and then over the micro-batches of a
// step, stages 0 and 1 the other way round.
//
// Use:
//
//   update.share = {rank, ranks};   update.stage = 3;
//   how.sharding = sharding_of(weights, update, least_elements);      // of every program of the run
//   step_pipeline(append, how)                                        // append_update(p, weights, update)
//   train_pipeline(accumulate, how, stage >= 2 ? share : nullptr)     // share_gradients(p, ...)
//   build_update(weights, update), update_pipeline(how)
//   backend.device().set_group(&group);                               // then Session::compile
//
// With UpdateOptions::split_invariant the bits do not depend on the number of ranks either. A step consists of units,
// which are fixed sets of rows. In each round every rank computes the gradients of one unit, and the gradients of the
// round's units are added one after another in the order of the units (fold_units). Squares for the norm are summed by
// fixed sets of a weight's rows. A rank without a unit in the last round adds nothing: the programs have the input
// present i64[], the number of ranks that have a unit in this round. With UpdateOptions::copies, this number of
// consecutive ranks computes the same unit, and `present` counts such groups of ranks. Groups of
// UpdateOptions::replica have different units; the gradients of all groups are added in one round.
//
// All ranks must run the same programs in the same order and equally often, so that their collectives match; compare
// them with collectives_fingerprint(). A rank with fewer rows runs a micro-batch without rows (zero gradients) in the
// shape of the other ranks. In stage 3 all ranks must also have the same settings of recomputation and offloading.
#pragma once

#include "engine/passes/pipelines.h"
#include "learn/train/weight_split.h"

namespace hone {

// For stages 2 and 3: changes a program whose outputs are gradients (differentiate, Gradients::values). The sums of the
// gradients over the ranks become states or, with `accumulate`, are added to these states. The sums are made while the
// backward pass runs.
void share_gradients(Program& program, const std::vector<UpdateWeight>& weights,
                     const UpdateOptions& options, bool accumulate);

// Appends the update for more than one rank to the program; see update.h. gradients[i]: the gradient of weights[i] on
// this rank alone or, if `reduced`, this rank's rows of the sum over ranks; kNoValue: this rank has no rows of it.
// `loss`: this rank's loss, f32[] or f64[]; kNoValue: it is the input local_loss.
void emit_shared_update(Program& program, const std::vector<UpdateWeight>& weights,
                        const Values& gradients, const UpdateOptions& options, ValueId loss,
                        bool reduced);

// The ranks of UpdateOptions::share in the form of TrainPasses::data.
TrainPasses::Axis data_axis(const UpdateOptions& options);

// A hash of the collectives of a program in their order. It must be equal on all ranks of a run.
uint64_t collectives_fingerprint(const Program& program);

}  // namespace hone
