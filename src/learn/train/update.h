// The optimizer step as a program: norm of all gradients, clipping, the rule over all weights.
//
//   inputs  lr f64[], step i64[] (1 for the first)
//   states  <weight>, grad.<weight> (read), the rule's own: exp_avg.<weight>, ... (zero at first)
//   output  grad_norm f64[], before clipping; when it is not finite, no state is changed
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "learn/train/settings.h"

namespace hone {

struct UpdateWeight {
  std::string name;
  Type type;
  bool decay = true;
};

struct UpdateOptions {
  std::string rule = "adamw";  // an optimizer op of the shelf (ops.h)
  Attrs attrs = {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.0}};
  bool decay_all = false;    // also weights that say decay = false
  double max_grad_norm = 1;  // 0: no clipping
};

// --optim, --optim_args and what goes with them, as Transformers' Trainer reads them; `adam` is
// torch.optim.Adam: weight decay in the gradient, of every parameter. Errors: H2409 an argument
// that the optimizer does not take.
Result<UpdateOptions> update_options(const TrainSettings& s);

// What the rule keeps, in the order of the op's operands: names as in PyTorch's and Transformers'
// optimizers, a dot and the weight's.
struct UpdateState {
  std::string name;
  Type type;
};
std::vector<UpdateState> update_states(const std::vector<UpdateWeight>& weights,
                                       const UpdateOptions& options);

Program build_update(const std::vector<UpdateWeight>& weights, const UpdateOptions& options);

}  // namespace hone
