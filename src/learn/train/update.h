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
// The rule is one node for each group of weights of at most 64 MiB. Without clipping (max_grad_norm
// 0) and all_or_nothing it waits only for the gradients of its group, so the gradients of the whole
// model need not exist at the same time (as in LOMO, arXiv 2306.09782). A larger weight has a node
// for each part of its rows, and so have the rule's states (ShardSpec), if the rule works on each
// element by itself; if the states are blocks of elements, each part holds whole blocks. A group
// has a node for each of the optimizer's rules. Groups and parts change no bit.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "learn/train/optimizers/optimizer.h"
#include "learn/train/settings.h"

namespace hone {

struct UpdateOptions {
  std::string optimizer = "adamw_torch";  // a name of the shelf (optimizers/optimizer.h)
  Attrs attrs = {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.0}};
  double max_grad_norm = 1;          // 0: no clipping
  bool scaled = false;               // the loss has a scale
  bool all_or_nothing = false;       // a gradient that is not finite keeps all states as they are
  uint64_t seed = 42;                // of the rule's random numbers, and of rounding
  bool stochastic_rounding = false;  // of weights in bf16
  int64_t group_bytes = int64_t{64} << 20;
  DType gradients = DType::f32;  // type of gradients that are states (differentiate)
};

// A value of --optim that the schema has accepted; any other is a Bug.
const Optimizer& optimizer_named(const std::string& name);
// The optimizer of --optim or --adafactor.
const Optimizer& optimizer_of(const TrainSettings& s);
// --optim, --optim_args and related settings, with the meaning of Transformers' Trainer. Errors:
// H2409 an argument that the optimizer does not take.
Result<UpdateOptions> update_options(const TrainSettings& s);

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
