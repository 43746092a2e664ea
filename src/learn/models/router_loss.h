// The loss that balances the load of experts, for models whose config.json has output_router_logits: as
// load_balancing_loss_func of Transformers (Switch Transformer, arXiv 2101.03961, equations 4 to 6).
#pragma once

#include "learn/models/graph.h"

namespace hone {

// Whether config.json asks for the loss, and its weight router_aux_loss_coef is not 0.
bool trains_routers(const ModelConfig& c);
// H2303 if it does: for a task that adds no such loss.
Status refuse_router_loss(const ModelConfig& c, const std::string& task);

// Keeps the scores [T,E] of a layer's router and the experts i32[T,k] that it has chosen, if the loss is asked for.
void keep_router(ModelGraph& g, ValueId scores, ValueId chosen);
// router_aux_loss_coef * E * the sum over experts of (choices of the expert / N) (its probabilities / N), f32[];
// sums are over the tokens of rows in all layers with experts, N of them. kNoValue unless routers were kept.
ValueId router_loss(ModelGraph& g);

}  // namespace hone
