// adafactor(p..., g..., states..., lr, step, g_scale) -> p'..., states'...: Adafactor (Shazeer and
// Stern, arXiv 1804.04235) with a given learning rate, neither relative step nor parameter scale
// nor first moment, as Transformers' Trainer runs it. With g * g_scale for g, d the decay of a
// tensor and keep = 1 - step^decay_rate, for tensors [..., R, C]:
//   row' = keep row + (1-keep) mean over C of (g^2 + eps),   col' the same over R,
//   u = g / sqrt(row'/mean over R of row' col');
// for vectors and scalars square' = keep square + (1-keep) (g^2 + eps), u = g / sqrt(square'). Then
//   p' = p (1 - lr d) - lr u / max(1, rms(u) / clip_threshold).
// States: the list of row [..., R] or square, then the list of col [..., C] of the tensors with two
// axes or more. All of p's element type; operands as in update_parts.h.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

bool factored(const Type& t) { return t.rank() >= 2; }

Types states(const NodeView& n) {
  Types rows, columns;
  for (int64_t i = 0; i < n.integer("count"); ++i) {
    const Type& p = n.in(static_cast<size_t>(i));
    Type row = p, column = p;
    if (factored(p)) {
      row.shape.pop_back();
      column.shape.erase(column.shape.end() - 2);
      columns.push_back(column);
    }
    rows.push_back(row);
  }
  rows.insert(rows.end(), columns.begin(), columns.end());
  return rows;
}

Result<Types> infer_adafactor(const NodeView& n) { return infer_update(n, states); }

// x of a shape with `axis` of `like` missing, spread over that axis.
ValueId spread(Builder& b, ValueId x, const Shape& like, int64_t axis) {
  std::vector<int64_t> axes;
  for (int64_t a = 0; a < static_cast<int64_t>(like.size()); ++a)
    if (a != axis) axes.push_back(a);
  return ops::broadcast(b, x, like, axes);
}

Values decompose_adafactor(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const Type scalar{DType::f64, {}};
  ValueId one = ops::constant(b, 1, scalar);
  ValueId take = ops::exp(b, u.scaled(ops::log(b, u.step()), u.attr("decay_rate")));
  ValueId keep = ops::sub(b, one, take);
  auto mix = [&](ValueId old, ValueId fresh) {
    return ops::add(b, u.times(old, keep), u.times(fresh, take));
  };
  auto mean = [&](ValueId x, int64_t axis) {
    const double size = static_cast<double>(b.type(x).shape[static_cast<size_t>(axis)]);
    return u.scaled(ops::reduce_sum(b, x, {axis}), 1 / size);
  };
  auto root_below = [&](ValueId x) { return ops::div(b, number(b, 1, x), ops::sqrt(b, x)); };
  Values p, rows, columns;
  for (size_t i = 0; i < u.count(); ++i) {
    const Type type = b.type(u.p(i));
    const int64_t last = static_cast<int64_t>(type.shape.size()) - 1;
    ValueId g = u.gradient(i), square = u.plus(ops::mul(b, g, g), u.attr("eps")), change;
    if (factored(type)) {
      ValueId row = mix(u.state(0, i), mean(square, last));
      ValueId column = mix(u.state(1, columns.size()), mean(square, last - 1));
      rows.push_back(row);
      columns.push_back(column);
      const Shape row_shape = b.type(row).shape;  // its reference dies with the next value
      ValueId across = spread(b, mean(row, last - 1), row_shape, last - 1);
      ValueId by_row = root_below(ops::div(b, row, across));
      change = ops::mul(b, ops::mul(b, g, spread(b, by_row, type.shape, last)),
                        spread(b, root_below(column), type.shape, last - 1));
    } else {
      rows.push_back(mix(u.state(0, i), square));
      change = ops::mul(b, g, root_below(rows[i]));
    }
    ValueId rms =
        ops::sqrt(b, u.scaled(ops::sum_squares(b, change), 1 / static_cast<double>(type.count())));
    ValueId clip = ops::maximum(b, one, u.scaled(rms, 1 / u.attr("clip_threshold")));
    p.push_back(ops::sub(b, u.shrunk(i, u.p(i)), u.times(change, ops::div(b, u.lr(), clip))));
  }
  return u.results({p, rows, columns});
}

Cost cost_adafactor(const NodeView& n) { return update_cost(n, 16); }

}  // namespace

Op define_adafactor() {
  return update_op(
      "adafactor",
      {required("eps", 0.0), required("clip_threshold", 0.0), required("decay_rate", 0.0)},
      infer_adafactor, decompose_adafactor, cost_adafactor);
}

}  // namespace hone
