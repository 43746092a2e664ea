#include "learn/harness/token_graph.h"

#include "learn/models/router_loss.h"

namespace hone {

bool has_token_types(const ModelConfig& config) {
  const auto types = config.integer("type_vocab_size", 0);
  return types.ok() && *types > 1;
}

int64_t label_tokens(const BatchShape& shape) {
  return shape[shape.has(kTokens) ? kTokens : kTargetTokens];
}

ValueId add_token_inputs(ModelGraph& g, const BatchShape& shape, const Type* label_type) {
  const auto input = [&](const char* name, DType dtype, int64_t n) {
    return g.b.program().add_input(name, {dtype, {n}});
  };
  const int64_t tokens = label_tokens(shape), sequences = shape[kSequences];
  const bool train = g.mode == ModelGraph::Mode::train;
  g.ids = input("ids", DType::i32, tokens);
  g.positions = input("positions", DType::i32, tokens);
  const ValueId labels = label_type ? g.b.program().add_input("labels", *label_type) : kNoValue;
  g.cu_seqlens = input("cu_seqlens", DType::i32, sequences + 1);
  const bool pairs = shape.has(kSourceTokens);
  const int64_t sources = pairs ? shape[kSourceTokens] : 0;
  if (pairs) {
    g.encoder_ids = input("encoder_ids", DType::i32, sources);
    g.encoder_positions = input("encoder_positions", DType::i32, sources);
    g.encoder_cu_seqlens = input("encoder_cu_seqlens", DType::i32, sequences + 1);
  }
  if (!train) return labels;
  g.sample_ids = input("sample_ids", DType::i64, tokens);
  if (pairs) g.encoder_sample_ids = input("encoder_sample_ids", DType::i64, sources);
  g.rng = input("rng", DType::i64, 2);
  if (g.config.neftune_alpha > 0) g.row_lengths = input("row_lengths", DType::f32, tokens);
  return labels;
}

TokenGraph::TokenGraph(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                       bool train, const Type& label_type)
    : program(op_table(), name),
      b(program),
      model(b, config, train ? ModelGraph::Mode::train : ModelGraph::Mode::eval) {
  labels = add_token_inputs(model, shape, &label_type);
  scale = train ? program.add_input("scale", {DType::f32, {}})
                : ops::constant(b, 1.0, {DType::f32, {}});
  add_model_states(model, train);
}

namespace {

// The share of the labels that this micro-batch has of its optimizer step's, whose number is 1 / scale.
ValueId share_of_labels(TokenGraph& g) {
  const Type type = g.b.type(g.labels);
  const ValueId there = ops::compare(g.b, g.labels, ops::constant(g.b, 0, Type(type)), "ge");
  const ValueId count = ops::reduce_sum(g.b, ops::cast(g.b, there, DType::f32), {0});
  return ops::mul(g.b, count, g.scale);
}

}  // namespace

Program finish_token_loss(TokenGraph& g, bool train, double label_smoothing) {
  const HeadLayer layer = model_head(g.model);
  Builder::Scope head(g.b, "head");
  const ops::CrossEntropy loss =
      cross_entropy_of(g.b, layer, g.labels, g.scale, train, label_smoothing);
  if (train) {
    ValueId total = loss.loss;
    if (const ValueId routers = router_loss(g.model); routers != kNoValue)
      total = ops::add(g.b, total, ops::mul(g.b, routers, share_of_labels(g)));
    g.program.outputs.push_back({"loss", total});
  } else {
    g.program.outputs.push_back({"nll", loss.nll});
    g.program.outputs.push_back({"correct", loss.correct});
  }
  return std::move(g.program);
}

Program token_loss_program(const ModelConfig& config, const BatchShape& shape,
                           const std::string& name, bool train, double label_smoothing) {
  TokenGraph g(config, shape, name, train, {DType::i32, {shape[kTokens]}});
  return finish_token_loss(g, train, label_smoothing);
}

}  // namespace hone
