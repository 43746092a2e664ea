#include "learn/tasks/token_graph.h"

namespace hone {

TokenGraph::TokenGraph(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                       bool train, const Type& label_type)
    : program(op_table(), name),
      b(program),
      model(b, config, train ? ModelGraph::Mode::train : ModelGraph::Mode::eval) {
  model.ids = program.add_input("ids", {DType::i32, {shape.tokens}});
  model.positions = program.add_input("positions", {DType::i32, {shape.tokens}});
  labels = program.add_input("labels", label_type);
  model.cu_seqlens = program.add_input("cu_seqlens", {DType::i32, {shape.slots + 1}});
  if (train) {
    model.sample_ids = program.add_input("sample_ids", {DType::i64, {shape.tokens}});
    model.rng = program.add_input("rng", {DType::i64, {2}});
    scale = program.add_input("scale", {DType::f32, {}});
  } else {
    scale = ops::constant(b, 1.0, {DType::f32, {}});
  }
  add_model_states(model, train);
}

Program finish_token_loss(TokenGraph& g, bool train, double label_smoothing) {
  const HeadLayer layer = model_head(g.model);
  Builder::Scope head(g.b, "head");
  const ops::CrossEntropy loss = ops::linear_cross_entropy(
      g.b, layer.x, layer.weight, g.labels, g.scale, train, label_smoothing, layer.bias);
  if (train) {
    g.program.outputs.push_back({"loss", loss.loss});
  } else {
    g.program.outputs.push_back({"nll", loss.nll});
    g.program.outputs.push_back({"correct", loss.correct});
  }
  return std::move(g.program);
}

}  // namespace hone
