#include "learn/models/router_loss.h"

#include "learn/models/errors.h"

namespace hone {

bool trains_routers(const ModelConfig& c) {
  return c.flag("output_router_logits", false) && c.real("router_aux_loss_coef", 0) != 0;
}

Status refuse_router_loss(const ModelConfig& c, const std::string& task) {
  if (!trains_routers(c)) return Ok{};
  return Error(err::kConfigNotOffered,
               fmt::format("config.json: 'output_router_logits' is true, and --task {} does not "
                           "support the loss of routers",
                           task))
      .todo("set it to false: the router is then trained by the loss of the task alone");
}

void keep_router(ModelGraph& g, ValueId scores, ValueId chosen) {
  if (g.mode == ModelGraph::Mode::train && trains_routers(g.config))
    g.routers.push_back({scores, chosen});
}

ValueId router_loss(ModelGraph& g) {
  if (g.routers.empty()) return kNoValue;
  Builder& b = g.b;
  Builder::Scope scope(b, "router_loss");
  const auto number = [&](double value) { return ops::constant(b, value, {DType::f32, {}}); };
  const Shape all = b.type(g.routers.front().scores).shape,
              choices = b.type(g.routers.front().chosen).shape;
  const int64_t tokens = all[0], experts = all[1];
  // 1 for tokens of rows, 0 for those that fill the batch.
  const ValueId of_row =
      ops::compare(b, g.sample_ids, ops::constant(b, 0, {DType::i64, {tokens}}), "ge");
  const ValueId here = ops::cast(b, of_row, DType::f32);
  ValueId counts = kNoValue, shares = kNoValue;  // [E]
  const auto add = [&](ValueId& sum, ValueId rows) {
    const ValueId one = ops::reduce_sum(b, rows, {0});
    sum = sum == kNoValue ? one : ops::add(b, sum, one);
  };
  for (const ModelGraph::Router& r : g.routers) {
    add(counts, b.emit1("top_k_grad", {r.chosen, ops::broadcast(b, here, choices, {0})},
                        {{"columns", experts}}));
    add(shares, ops::mul(b, ops::softmax(b, r.scores), ops::broadcast(b, here, all, {0})));
  }
  // A micro-batch without rows has no loss.
  const ValueId rows = ops::maximum(b, ops::reduce_sum(b, here, {0}), number(1));
  const ValueId n = ops::mul(b, rows, number(static_cast<double>(g.routers.size())));
  const ValueId sum =
      ops::reduce_sum(b, ops::mul(b, ops::div(b, counts, n), ops::div(b, shares, n)), {0});
  return ops::mul(b, sum,
                  number(g.config.real("router_aux_loss_coef", 0) * static_cast<double>(experts)));
}

}  // namespace hone
