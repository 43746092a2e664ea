#include "learn/tasks/clm_programs.h"

namespace hone {
namespace {

Program build(const ModelConfig& config, const BatchShape& shape, const std::string& name,
              bool train, double label_smoothing) {
  Program p(op_table(), name);
  Builder b(p);
  ModelGraph g(b, config, train ? ModelGraph::Mode::train : ModelGraph::Mode::eval);
  g.ids = p.add_input("ids", {DType::i32, {shape.tokens}});
  g.positions = p.add_input("positions", {DType::i32, {shape.tokens}});
  ValueId labels = p.add_input("labels", {DType::i32, {shape.tokens}});
  g.cu_seqlens = p.add_input("cu_seqlens", {DType::i32, {shape.slots + 1}});
  ValueId scale = kNoValue;
  if (train) {
    g.sample_ids = p.add_input("sample_ids", {DType::i64, {shape.tokens}});
    g.rng = p.add_input("rng", {DType::i64, {2}});
    scale = p.add_input("scale", {DType::f32, {}});
  } else {
    scale = ops::constant(b, 1.0, {DType::f32, {}});
  }
  add_model_states(g, train);
  const HeadLayer layer = model_head(g);
  Builder::Scope head(b, "head");
  ops::CrossEntropy loss = ops::linear_cross_entropy(b, layer.x, layer.weight, labels, scale, train,
                                                     label_smoothing, layer.bias);
  if (train) {
    p.outputs.push_back({"loss", loss.loss});
  } else {
    p.outputs.push_back({"nll", loss.nll});
    p.outputs.push_back({"correct", loss.correct});
  }
  return p;
}

}  // namespace

Program build_clm_train(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                        double label_smoothing) {
  return build(config, shape, name, true, label_smoothing);
}
Program build_clm_eval(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                       double label_smoothing) {
  return build(config, shape, name, false, label_smoothing);
}

}  // namespace hone
