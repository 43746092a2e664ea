#include "learn/tasks/seq2seq_programs.h"

namespace hone {
namespace {

Program build(const ModelConfig& config, const PairShape& shape, const std::string& name,
              bool train, double label_smoothing) {
  Program p(op_table(), name);
  Builder b(p);
  ModelGraph g(b, config, train ? ModelGraph::Mode::train : ModelGraph::Mode::eval);
  add_pair_inputs(g, shape);
  ValueId labels = p.add_input("labels", {DType::i32, {shape.target_tokens}});
  ValueId scale =
      train ? p.add_input("scale", {DType::f32, {}}) : ops::constant(b, 1.0, {DType::f32, {}});
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

void add_pair_inputs(ModelGraph& g, const PairShape& shape) {
  Program& p = g.b.program();
  auto input = [&](const char* name, DType dtype, int64_t n) {
    return p.add_input(name, {dtype, {n}});
  };
  g.ids = input("ids", DType::i32, shape.target_tokens);
  g.positions = input("positions", DType::i32, shape.target_tokens);
  g.cu_seqlens = input("cu_seqlens", DType::i32, shape.slots + 1);
  g.encoder_ids = input("encoder_ids", DType::i32, shape.source_tokens);
  g.encoder_positions = input("encoder_positions", DType::i32, shape.source_tokens);
  g.encoder_cu_seqlens = input("encoder_cu_seqlens", DType::i32, shape.slots + 1);
  if (g.mode != ModelGraph::Mode::train) return;
  g.sample_ids = input("sample_ids", DType::i64, shape.target_tokens);
  g.encoder_sample_ids = input("encoder_sample_ids", DType::i64, shape.source_tokens);
  g.rng = input("rng", DType::i64, 2);
}

Program build_seq2seq_train(const ModelConfig& config, const PairShape& shape,
                            const std::string& name, double label_smoothing) {
  return build(config, shape, name, true, label_smoothing);
}
Program build_seq2seq_eval(const ModelConfig& config, const PairShape& shape,
                           const std::string& name, double label_smoothing) {
  return build(config, shape, name, false, label_smoothing);
}

}  // namespace hone
