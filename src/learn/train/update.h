// The optimizer step as a program: norm of all gradients, clipping, the rule over all weights.
//
//   inputs  lr f64[], step i64[] (1 for the first); with a loss scale loss_scale f64[], the factor
//           in gradients and loss
//   states  <weight>, grad.<weight> (read; in a whole step the gradients are values), the rule's
//           own: exp_avg.<weight>, ... (zero at first)
//   output  grad_norm f64[], before clipping, of gradients without the loss scale; if it is not
//           finite, no state changes. Without clipping and all_or_nothing only groups with such
//           gradients keep their states
//
// With more than one rank (UpdateOptions::share; shared_update.h) also:
//
//   inputs  stop f64[] (1 if this rank was asked to stop, else 0); local_loss f64[], the loss of this
//           rank's micro-batches (in a whole step it is the program's own loss)
//   outputs loss f64[], the sum of the ranks' losses, and stops f64[], of their stop flags: equal on
//           all ranks, as grad_norm is. In a whole step the loss is f64[] instead of f32[]
//
// With split_invariant local_loss is local_losses f64[units_per_rank()], the loss of each of the
// rank's units, 0 where it has none, and an output losses f64[units] has those of all units in their
// order.
//
// Every rank runs the update in every step, even if its loss is not finite: the sum of the losses then
// keeps all states as they are, on all ranks.
//
// The rule is one node for each group of weights of at most 64 MiB. Without clipping (max_grad_norm
// 0) and all_or_nothing it waits only for the gradients of its group, so the gradients of the whole
// model need not exist at the same time (as in LOMO, arXiv 2306.09782). A larger weight has a node
// for each part of its rows, and so have the rule's states (ShardSpec), if the rule works on each
// element by itself; if the states are blocks of elements, each part holds whole blocks. A group
// has a node for each of the optimizer's rules. Groups and parts change no bit.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/op.h"
#include "learn/train/update_options.h"

namespace hone {

// Checks that an optimizer for some layers has at least one. H2409.
Status check_targets(const std::vector<UpdateWeight>& weights, const TrainSettings& s);

// Checks that the optimizer updates weights in bf16, if there are any. H2409.
Status check_weight_types(const std::vector<UpdateWeight>& weights, const TrainSettings& s);

// States of the optimizer, in the order of its op's operands: the state's name, a dot and the
// weight's. States of a second rule come after them.
std::vector<OptimizerState> update_states(const std::vector<UpdateWeight>& weights,
                                          const UpdateOptions& options);

// A program of its own, for gradients that are states.
Program build_update(const std::vector<UpdateWeight>& weights, const UpdateOptions& options);
// Appends the update to a program of forward and backward whose outputs are the loss and the
// gradients "grad.<weight>" (differentiate); these are no longer outputs. The bits equal those of
// two programs.
void append_update(Program& program, const std::vector<UpdateWeight>& weights,
                   const UpdateOptions& options);

}  // namespace hone
