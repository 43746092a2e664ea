// The update of weights that several ranks train together: each has the gradients of its own rows of
// a step, and all have the same weights afterwards, bit for bit. Stages are those of ZeRO
// (Rajbhandari et al., arXiv 1910.02054):
//
//   stage 0   gradients are summed (all_reduce), and every rank updates every weight
//   stage 1   the sums are cut into rows (reduce_scatter); a rank has the optimizer's states of its
//             rows alone, updates these and sends them to the others (all_gather)
//   stage 2   the same; gradients that are states are cut too, in each micro-batch (share_gradients)
//   stage 3   the same; weights are states of rows too (engine/passes/shard.h)
//
// With UpdateOptions::replica the ranks are groups that follow each other (MiCS): a group cuts the states,
// and each rank then adds its rows over the groups, once in a step (all_reduce).
//
// Sums over ranks are made in the order of ranks, with replicas those of a group before those over groups. All stages give the same bits, except that stages 2
// and 3 sum the micro-batches of a step after the ranks, and the others before.
//
//   update.share = {rank, ranks};   update.stage = 3;
//   how.sharding = sharding_of(weights, update, least_elements);      // of every program of the run
//   step_pipeline(append, how)                                        // append_update(p, weights, update)
//   train_pipeline(accumulate, how, stage >= 2 ? share : nullptr)     // share_gradients(p, ...)
//   build_update(weights, update), update_pipeline(how)
//   backend.device().set_group(&group);                               // then Session::compile
//
// With UpdateOptions::split_invariant the bits do not depend on the number of ranks either: in each
// round of micro-batches the ranks' units are added one after another in their global order
// (fold_units), squares are summed by units of rows, and nothing is added that a rank has not. The
// programs have the input present i64[], the number of ranks that have a unit in this round. With
// UpdateOptions::copies several ranks one after another compute the same unit: present counts such groups. Replicas
// have units of their own too: the terms of all of them are folded in one round.
//
// All ranks run the same programs in the same order, as often: a rank with fewer rows runs a
// micro-batch without rows (zero gradients), in the shape that the others have. Their collectives
// then are the same in the same order, which collectives_fingerprint() says. In
// stage 3 all ranks also take equal settings of recompute and offload.
#pragma once

#include "engine/passes/pipelines.h"
#include "learn/train/weight_split.h"

namespace hone {

// For programs of stages 2 and 3 whose outputs are gradients (differentiate, Gradients::values): the
// sums over ranks become states, or are added to them (`accumulate`). The reductions run beside the
// backward pass.
void share_gradients(Program& program, const std::vector<UpdateWeight>& weights,
                     const UpdateOptions& options, bool accumulate);

// The update with more than one rank; see update.h. gradients[i]: of weights[i] on this rank alone,
// or, if `reduced`, this rank's rows of the sum over ranks; kNoValue: it has none. `loss`: this
// rank's part, f32[] or f64[].
void emit_shared_update(Program& program, const std::vector<UpdateWeight>& weights,
                        const Values& gradients, const UpdateOptions& options, ValueId loss,
                        bool reduced);

// The ranks of UpdateOptions::share, for TrainPasses::data.
TrainPasses::Axis data_axis(const UpdateOptions& options);

// A hash of the collectives of a program, in their order: equal on all ranks of a run.
uint64_t collectives_fingerprint(const Program& program);

}  // namespace hone
