#include "learn/models/text_embedding.h"

#include <algorithm>

namespace hone {
namespace {

constexpr double kLeastLength = 1e-12;  // of torch.nn.functional.normalize

// The bounds of the sequences, i32[S] each.
struct TextBounds {
  ValueId begin, end, any;  // any: bool[S]
};

TextBounds bounds_of(ModelGraph& g) {
  const int64_t slots = g.b.type(g.cu_seqlens).shape[0] - 1;
  TextBounds t{};
  t.begin = ops::slice(g.b, g.cu_seqlens, 0, 0, slots);
  t.end = ops::slice(g.b, g.cu_seqlens, 0, 1, slots + 1);
  t.any = ops::compare(g.b, t.begin, t.end, "lt");
  return t;
}

ValueId whole_number(Builder& b, int64_t value) {
  return ops::constant(b, static_cast<double>(value), {DType::i32, {}});
}

// The sums of the tokens of each text, divided by their number or by its square root.
ValueId mean_tokens(ModelGraph& g, ValueId hidden, ValueId segments, bool by_root) {
  Builder& b = g.b;
  const TextBounds t = bounds_of(g);
  const int64_t slots = b.type(t.begin).shape[0];
  ValueId number = ops::maximum(b, ops::cast(b, ops::sub(b, t.end, t.begin), DType::f32),
                                ops::constant(b, 1, {DType::f32, {}}));
  if (by_root) number = ops::sqrt(b, number);
  const ValueId sums = ops::scatter_add_rows(b, segments, hidden, slots);
  const Shape shape = b.type(sums).shape;
  return ops::div(b, sums, ops::broadcast(b, number, shape, {0}));
}

ValueId last_tokens(ModelGraph& g, ValueId hidden) {
  const TextBounds t = bounds_of(g);
  const ValueId last = ops::sub(g.b, t.end, whole_number(g.b, 1));
  return ops::gather_rows(g.b, hidden, ops::select(g.b, t.any, last, whole_number(g.b, -1)));
}

// The largest of each channel over the tokens of a text: its tokens side by side, the last one again in the places
// after it, which changes neither the largest nor the sum of its gradients.
ValueId largest_of_tokens(ModelGraph& g, ValueId hidden) {
  Builder& b = g.b;
  const TextBounds t = bounds_of(g);
  const int64_t slots = b.type(t.begin).shape[0], tokens = b.type(hidden).shape[0],
                channels = b.type(hidden).shape[1];
  const int64_t given = g.config.embedding->longest;
  const int64_t most = std::min(tokens, given > 0 ? given : g.config.max_positions);
  const Shape places{slots, most};
  const ValueId last = ops::sub(b, t.end, whole_number(b, 1));
  const ValueId at = ops::minimum(
      b,
      ops::add(b, ops::broadcast(b, t.begin, places, {0}), ops::iota(b, {DType::i32, places}, 1)),
      ops::broadcast(b, last, places, {0}));
  const ValueId there =
      ops::select(b, ops::broadcast(b, t.any, places, {0}), at, whole_number(b, -1));
  const ValueId side_by_side = ops::gather_rows(b, hidden, ops::reshape(b, there, {slots * most}));
  return ops::reduce_max(b, ops::reshape(b, side_by_side, {slots, most, channels}), {1});
}

ValueId pooled_tokens(ModelGraph& g, ValueId hidden, ValueId segments, const std::string& mode) {
  Builder::Scope scope(g.b, mode);
  if (mode == "cls") return g.first_tokens(hidden);
  if (mode == "lasttoken") return last_tokens(g, hidden);
  if (mode == "max") return largest_of_tokens(g, hidden);
  return mean_tokens(g, hidden, segments, mode == "mean_sqrt_len_tokens");
}

ValueId with_length_one(Builder& b, ValueId x) {
  const Shape shape = b.type(x).shape;
  const ValueId squares =
      ops::maximum(b, ops::reduce_sum(b, ops::mul(b, x, x), {1}),
                   ops::constant(b, kLeastLength * kLeastLength, {DType::f32, {}}));
  return ops::div(b, x, ops::broadcast(b, ops::sqrt(b, squares), shape, {0}));
}

}  // namespace

int64_t EmbeddingForm::width(int64_t hidden) const {
  return dense.empty() ? hidden * std::ssize(pooling) : dense.back().out;
}

const std::vector<std::string>& pooling_modes() {
  static const std::vector<std::string> modes{"mean", "cls", "lasttoken", "max",
                                              "mean_sqrt_len_tokens"};
  return modes;
}

ValueId text_embeddings(ModelGraph& g, ValueId hidden, ValueId segments) {
  Builder& b = g.b;
  const EmbeddingForm& form = *g.config.embedding;
  Builder::Scope scope(b, "embedding");
  Values parts;
  for (const std::string& mode : form.pooling)
    parts.push_back(pooled_tokens(g, hidden, segments, mode));
  ValueId x = parts.size() == 1 ? parts[0] : ops::concat(b, parts, 1);
  for (const EmbeddingDense& dense : form.dense) {
    x = g.linear(dense.folder + ".linear", x, dense.out,
                 {.bias = dense.bias, .rows = LinearLayer::Rows::sequences});
    x = dense.act == "tanh" ? ops::tanh(b, x) : ops::activation(b, x, dense.act);
  }
  return form.normalize ? with_length_one(b, x) : x;
}

}  // namespace hone
