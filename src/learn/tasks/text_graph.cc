#include "learn/tasks/text_graph.h"

namespace hone {
namespace {

BatchShape with_sequences(BatchShape shape, int64_t texts) {
  for (BatchShape::Axis& axis : shape.axes)
    if (axis.name == kSequences) axis.size *= texts;
  return shape;
}

}  // namespace

TextGraph::TextGraph(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                     bool train, int64_t texts, int64_t labels, bool weighted)
    : TokenGraph(config, with_sequences(shape, texts), name, train,
                 {DType::f32, {shape[kSequences] * std::max<int64_t>(labels, 1)}}),
      rows(shape[kSequences]),
      texts(texts) {
  segments = program.add_input("segments", {DType::i32, {shape[kTokens]}});
  if (weighted) weight = program.add_input("weight", {DType::f32, {rows}});
}

Values columns_of(Builder& b, ValueId x, int64_t texts) {
  if (texts == 1) return {x};
  const Shape shape = b.type(x).shape;
  const int64_t rows = shape[0] / texts, width = shape[1];
  const ValueId by_row = ops::reshape(b, x, {rows, texts * width});
  Values columns;
  for (int64_t k = 0; k < texts; ++k)
    columns.push_back(ops::slice(b, by_row, 1, k * width, (k + 1) * width));
  return columns;
}

}  // namespace hone
