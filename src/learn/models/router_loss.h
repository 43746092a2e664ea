// The auxiliary loss that balances the load of experts, for models with output_router_logits in config.json. It is
// that of Transformers' load_balancing_loss_func (Switch Transformer, arXiv 2101.03961, equations 4 to 6).
#pragma once

#include "learn/models/graph.h"

namespace hone {

// Whether the loss is trained: output_router_logits is true, and router_aux_loss_coef is not 0.
bool trains_routers(const ModelConfig& c);
// For a task that does not support this loss. H2303: config.json requests it. `task`: the value of --task, for the
// message.
Status refuse_router_loss(const ModelConfig& c, const std::string& task);

// Adds a layer's router to g.routers if the loss is trained: its scores [T,E] and the chosen experts i32[T,k].
void keep_router(ModelGraph& g, ValueId scores, ValueId chosen);
// The loss f32[] of all routers in g.routers: router_aux_loss_coef * E * sum over experts of (n_e / N) (p_e / N). N:
// the number of tokens, counted once for each layer with experts, without tokens that fill the batch. n_e: how often
// expert e was chosen; p_e: the sum of its probabilities. kNoValue: there are no routers.
ValueId router_loss(ModelGraph& g);

}  // namespace hone
