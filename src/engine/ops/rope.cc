// rope(x, positions, inv_freq): of each head the pairs (j, j + R/2) turn by positions[t]
// inv_freq[j] (Su et al., arXiv 2104.09864, in the halves order of Transformers' Llama), times
// attention_scaling; channels from R on stay. Attribute interleaved: the pairs are (2j, 2j + 1). x
// [T, heads*D], positions i32[T], inv_freq [R/2] with R <= D -> x's type. Attribute inverse: the
// transposed map, which is the gradient.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_rope(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_type(n, 1, {DType::i32, {n.in(0).shape[0]}}));
  HONE_TRY(expect_rank(n, 2, 1));
  HONE_TRY(expect_float(n, 2));
  const int64_t heads = n.integer("heads"), row = n.in(0).shape[1];
  if (heads < 1 || row % heads != 0 || row / heads < 2 * n.in(2).shape[0])
    return bad_operands(
        n, fmt::format("{} heads of twice as many channels as inv_freq do not make a row of x",
                       heads));
  return Types{n.in(0)};
}

// The first and the second channels of pairs [T,heads,R], each [T,heads,R/2]; and back.
std::pair<ValueId, ValueId> halves_of(Builder& b, ValueId v, bool interleaved) {
  const Shape s = b.type(v).shape;
  const int64_t half = s[2] / 2;
  if (!interleaved) {
    ValueId first = ops::slice(b, v, 2, 0, half), second = ops::slice(b, v, 2, half, 2 * half);
    return {first, second};
  }
  const ValueId pairs = ops::reshape(b, v, {s[0], s[1], half, 2});
  const auto side = [&](int64_t k) {
    return ops::reshape(b, ops::slice(b, pairs, 3, k, k + 1), {s[0], s[1], half});
  };
  ValueId first = side(0), second = side(1);
  return {first, second};
}

ValueId joined(Builder& b, ValueId first, ValueId second, bool interleaved) {
  if (!interleaved) return ops::concat(b, {first, second}, 2);
  const Shape s = b.type(first).shape;
  const Shape column{s[0], s[1], s[2], 1};
  ValueId left = ops::reshape(b, first, column), right = ops::reshape(b, second, column);
  return ops::reshape(b, ops::concat(b, {left, right}, 3), {s[0], s[1], 2 * s[2]});
}

Values decompose_rope(Builder& b, const NodeView& n) {
  Type x = n.in(0);
  int64_t rows = x.shape[0], heads = n.integer("heads"), half = n.in(2).shape[0];
  DType w = wide(x.dtype);
  Shape angles{rows, half}, halves{rows, heads, half};
  ValueId position = ops::broadcast(b, ops::cast(b, n.input(1), w), angles, {0});
  ValueId angle =
      ops::mul(b, position, ops::broadcast(b, ops::cast(b, n.input(2), w), angles, {1}));
  ValueId scale = number(b, n.real("attention_scaling"), angle);
  ValueId c = ops::broadcast(b, ops::mul(b, ops::cos(b, angle), scale), halves, {0, 2});
  ValueId s = ops::broadcast(b, ops::mul(b, ops::sin(b, angle), scale), halves, {0, 2});
  if (n.flag("inverse")) s = ops::neg(b, s);
  const int64_t size = x.shape[1] / heads;
  const bool interleaved = n.flag("interleaved");
  ValueId v = ops::reshape(b, ops::cast(b, n.input(0), w), {rows, heads, size});
  ValueId turned = v, rest = kNoValue;
  if (size > 2 * half) {
    turned = ops::slice(b, v, 2, 0, 2 * half);
    rest = ops::slice(b, v, 2, 2 * half, size);
  }
  const auto [first, second] = halves_of(b, turned, interleaved);
  ValueId y1 = ops::sub(b, ops::mul(b, first, c), ops::mul(b, second, s));
  ValueId y2 = ops::add(b, ops::mul(b, second, c), ops::mul(b, first, s));
  ValueId y = joined(b, y1, y2, interleaved);
  if (rest != kNoValue) y = ops::concat(b, {y, rest}, 2);
  return {ops::cast(b, ops::reshape(b, y, x.shape), x.dtype)};
}

Values grad_rope(Builder& b, const NodeView& n, const Values& d) {
  Attrs attrs = n.attrs();
  attrs.set("inverse", !n.flag("inverse"));
  return {b.emit1("rope", {d[0], n.input(1), n.input(2)}, attrs), kNoValue, kNoValue};
}

Cost cost_rope(const NodeView& n) { return elementwise(n, 4); }

}  // namespace

Op define_rope() {
  return {.name = "rope",
          .operands = {"x", "positions", "inv_freq"},
          .attrs = {required("heads", 0),
                    {"attention_scaling", 1.0},
                    {"inverse", false},
                    {"interleaved", false}},
          .infer = infer_rope,
          .decompositions = {decompose_rope},
          .grad = grad_rope,
          .cost = cost_rope,
          .over = {{0, "x"}}};
}

ValueId ops::rope(Builder& b, ValueId x, ValueId positions, ValueId inv_freq, int64_t heads,
                  double attention_scaling) {
  Attrs attrs{{"heads", heads}};
  if (attention_scaling != 1) attrs.set("attention_scaling", attention_scaling);
  return b.emit1("rope", {x, positions, inv_freq}, attrs);
}

}  // namespace hone
