// Builds the program of an optimizer's update: the norm of all gradients, clipping, and the optimizer's rule for all
// weights. The rule is the optimizer's op, such as Adam's formula. The update is a program of its own, or it is
// appended to a program of forward and backward; that program is then a whole step.
//
//   inputs   lr f64[]            learning rate
//            step i64[]          number of the update, from 1
//            loss_scale f64[]    only with a loss scale: the factor by which gradients and loss were multiplied
//   states   <weight>            read and written
//            grad.<weight>       only read; in a whole step the gradients are values of the program instead
//            exp_avg.<weight>    read and written: the states of the rule, such as Adam's; zeros at first
//   output   grad_norm f64[]     norm of all gradients before clipping, without the loss scale
//
// If grad_norm is not finite, no state changes. There is one exception. Without clipping (max_grad_norm 0) and without
// UpdateOptions::all_or_nothing, only the groups of weights whose gradients are not finite keep their states.
//
// With more than one rank (UpdateOptions::is_shared(); shared_update.h) also:
//
//   inputs   stop f64[]          1 if this rank received a stop request, else 0
//            local_loss f64[]    the loss of this rank's micro-batches; a whole step does not have this input and uses
//                                its own output `loss`
//   outputs  loss f64[]          sum of the losses of all ranks; in a whole step it replaces the output `loss` f32[]
//            stops f64[]         sum of the inputs `stop` of all ranks
//
// These outputs and grad_norm are equal on all ranks.
//
// With split_invariant there is the input local_losses f64[units_per_rank()] instead of local_loss: the losses of the
// rank's units (shared_update.h), by round; 0 for a round in which the rank has no unit. The additional output losses
// f64[units] has the losses of all units in their order.
//
// Every rank runs the update in every step, even if its loss is not finite. The sum of the losses is then not finite,
// so no rank changes its states.
//
// The weights form groups of at most UpdateOptions::group_bytes bytes. The rule is one node for each group; if the
// optimizer has two rules, or weights of a group have different learning rates, the group has a node for each of them.
// Without clipping and without all_or_nothing a node waits only for the gradients of its group, so the gradients of the
// whole model need not exist at the same time (as in LOMO, arXiv 2306.09782). A weight larger than group_bytes is a
// group alone. If its rule works on each element by itself, this group has a node for each part of the weight's rows,
// and the rule's states are divided into the same parts (ShardSpec). If a state has one element for each block of the
// weight's elements, each part has whole blocks. Groups and parts do not change any bit of the results.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/op.h"
#include "learn/train/update_options.h"

namespace hone {

// Returns H2409 if the optimizer needs --optim_target_modules and no weight is a target.
Status check_targets(const std::vector<UpdateWeight>& weights, const TrainSettings& s);

// Returns H2409 if some weights are kept only in bf16, and the optimizer or --ema_decay does not support that.
Status check_weight_types(const std::vector<UpdateWeight>& weights, const TrainSettings& s);

// All optimizer states, named "<kind>.<weight>": first those of the optimizer's first rule, then those of its second
// rule, each in the order of the op's operands, then the averages of --ema_decay.
std::vector<OptimizerState> update_states(const std::vector<UpdateWeight>& weights,
                                          const UpdateOptions& options);

// Builds the update as a program of its own, named "update". The gradients are states of this program.
Program build_update(const std::vector<UpdateWeight>& weights, const UpdateOptions& options);
// Appends the update to a program of forward and backward with the outputs `loss` and "grad.<weight>" (differentiate).
// Removes the outputs "grad.<weight>". The results have the same bits as those of a program of forward and backward
// followed by the program of build_update().
void append_update(Program& program, const std::vector<UpdateWeight>& weights,
                   const UpdateOptions& options);

}  // namespace hone
