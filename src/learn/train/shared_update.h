// The update of weights that several ranks train together. Before the update each rank has the gradients of its own
// rows of a step; afterwards all ranks have the same weights, bit for bit. The stages are those of ZeRO (Rajbhandari et
// al., arXiv 1910.02054):
//
//   stage 0   The gradients are summed over the ranks (all_reduce), and every rank updates every weight.
//   stage 1   Each rank gets the sums of some rows of each weight (reduce_scatter). It has the optimizer states of only
//             these rows, updates these rows and sends them to the other ranks (all_gather).
//   stage 2   As stage 1. Each rank also keeps only its rows of the gradients from one micro-batch to the next: the
//             gradients are summed over the ranks in each micro-batch (share_gradients).
//   stage 3   As stage 2. Each rank also keeps only its rows of the weights (engine/passes/shard.h).
//
// With UpdateOptions::replica, consecutive ranks form groups (MiCS). The ranks of a group divide the states as above.
// Once in a step, the sums of the rows of a rank are added to those of the ranks with the same place in the other
// groups (all_reduce).
//
// Sums over ranks are made in the order of the ranks; with groups, first within each group, then over the groups. All
// stages give the same bits if a step has one micro-batch. Otherwise stages 0 and 1 give the same bits, and stages 2
// and 3 give the same bits: stages 2 and 3 sum over the ranks first and then over the micro-batches of a step, stages 0
// and 1 the other way round.
//
// Use, with `append` as the function that appends the update to a program, and `share` as the function that calls
// share_gradients():
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
// round's units are added one after another in the order of the units (fold_units). For the norm, squares are summed
// within fixed sets of a weight's rows first. In the last round some ranks may have no unit and add nothing: the
// programs have the input present i64[], the number of ranks that have a unit in this round. If UpdateOptions::copies
// is above 1, this number of consecutive ranks computes the same unit, and `present` counts such sets of ranks. Groups
// of UpdateOptions::replica have different units; the gradients of all groups are added in one round.
//
// All ranks must run the same programs in the same order and the same number of times, so that their collectives match;
// compare them with collectives_fingerprint(). A rank with fewer rows runs a micro-batch without rows (zero gradients)
// in the shape of the other ranks. In stage 3 all ranks must also have the same settings of recomputation and
// offloading.
#pragma once

#include "engine/passes/pipelines.h"
#include "learn/train/weight_split.h"

namespace hone {

// For stages 2 and 3: changes a program whose outputs are gradients (differentiate, Gradients::values), so that it sums
// the gradients over the ranks while the backward pass runs. `accumulate` false: the sums become the states of the
// gradients. True: the sums are added to these states.
void share_gradients(Program& program, const std::vector<UpdateWeight>& weights,
                     const UpdateOptions& options, bool accumulate);

// Appends the update for more than one rank to the program; see update.h. `gradients`: a value for each weight.
// `reduced` false: the gradient on this rank alone. `reduced` true: this rank's rows of the sum over the ranks;
// kNoValue: this rank has no rows of the weight. `loss`: this rank's loss, f32[] or f64[]; kNoValue: the loss is the
// input local_loss.
void emit_shared_update(Program& program, const std::vector<UpdateWeight>& weights,
                        const Values& gradients, const UpdateOptions& options, ValueId loss,
                        bool reduced);

// The ranks of UpdateOptions::share in the form that TrainPasses::data needs.
TrainPasses::Axis data_axis(const UpdateOptions& options);

// A hash of the collectives of a program in their order. It must be equal on all ranks of a run.
uint64_t collectives_fingerprint(const Program& program);

}  // namespace hone
