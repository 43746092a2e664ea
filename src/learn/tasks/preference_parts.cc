#include "learn/tasks/preference_parts.h"

#include <cmath>

namespace hone {

ModelConfig without_any_dropout(ModelConfig config) {
  config = without_dropout(std::move(config));
  if (config.adapter && config.adapter->dropout > 0) {
    Adapter quiet = *config.adapter;
    quiet.dropout = 0;
    config.adapter = std::make_shared<const Adapter>(std::move(quiet));
  }
  return config;
}

BatchShape shape_of_pairs(BatchShape shape) {
  for (BatchShape::Axis& axis : shape.axes)
    if (axis.name == kSequences) axis.size *= 2;
  return shape;
}

AnswerScores answer_scores(TokenGraph& g, ValueId answers, ValueId weights) {
  const HeadLayer layer = model_head(g.model);
  Builder::Scope head(g.b, "head");
  const ValueId one = ops::constant(g.b, 1, {DType::f32, {}});
  const ops::CrossEntropy loss = cross_entropy_of(g.b, layer, g.labels, one, false);
  ValueId logps = ops::neg(g.b, loss.nll);  // [T]
  if (weights != kNoValue) logps = ops::mul(g.b, logps, weights);
  const int64_t tokens = g.b.type(answers).shape[0],
                sequences = g.b.type(g.model.cu_seqlens).shape[0] - 1;
  const ValueId sums =
      ops::scatter_add_rows(g.b, answers, ops::reshape(g.b, logps, {tokens, 1}), sequences);
  return {ops::reshape(g.b, sums, {sequences}), loss.correct};
}

double log_sigmoid(double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }

}  // namespace hone
