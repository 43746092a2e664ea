// Rows by groups, for mixtures of experts. Shapes are fixed, so a product of groups multiplies each row
// with the matrix of every group and keeps that of its own.
#include "engine/backends/xla/write_ops.h"

namespace hone::xla {
namespace {

// The order of a row's elements by comparing each pair, so that equal ones keep the order of columns.
Refs write_top_k(Writer& w, const NodeView& n, const Refs& in) {
  const int64_t rows = n.in(0).shape[0], columns = n.in(0).shape[1], k = n.integer("k");
  const Shape pairs{rows, columns, columns}, chosen{rows, k, columns};
  const Ref x = w.widen(in[0]);
  const auto both = [&](const std::string& op, const Ref& a, const Ref& b) {
    return w.binary(op, a, b);
  };
  const Ref nan = w.compare("NE", x, x);
  const Ref a = w.broadcast(x, pairs, {0, 2}), b = w.broadcast(x, pairs, {0, 1});
  const Ref nan_a = w.broadcast(nan, pairs, {0, 2}), nan_b = w.broadcast(nan, pairs, {0, 1});
  const Ref larger = both("or", w.compare("GT", a, b), both("and", nan_a, w.unary("not", nan_b)));
  const Ref equal = both("or", w.compare("EQ", a, b), both("and", nan_a, nan_b));
  const Ref earlier = w.compare("LT", w.iota("i32", pairs, 2), w.iota("i32", pairs, 1));
  const Ref before = w.convert(both("or", larger, both("and", equal, earlier)), "i32");
  const Ref rank = w.reduce("add", before, w.whole(0, "i32"), {2});  // [rows, columns]
  const Ref here = w.compare("EQ", w.broadcast(rank, chosen, {0, 2}), w.iota("i32", chosen, 1));
  const Ref values = w.select(here, w.broadcast(x, chosen, {0, 2}), w.number(0, x.element, chosen));
  const Ref places = w.select(here, w.iota("i32", chosen, 2), w.whole(0, "i32", chosen));
  return {w.narrow(w.reduce("add", values, w.number(0, x.element), {2}), element_of_result(n)),
          w.reduce("add", places, w.whole(0, "i32"), {2})};
}

Refs write_group_rows(Writer& w, const NodeView& n, const Refs& in) {
  const int64_t count = n.in(0).shape[0], groups = n.integer("groups");
  const Shape table{groups + 1, count};
  const Ref row = w.iota("i32", {count}, 0);
  const Refs sorted = w.sort(in[0], row);
  const Ref smaller = w.compare("LT", w.broadcast(in[0], table, {1}), w.iota("i32", table, 0));
  const Ref starts = w.reduce("add", w.convert(smaller, "i32"), w.whole(0, "i32"), {1});
  const Ref rows =
      w.binary("divide", sorted[1], w.whole_like(static_cast<uint64_t>(n.integer("each")), row));
  return {rows, w.sort(sorted[1], row)[1], starts, sorted[0]};
}

// bool [groups, rows]: the rows of each group.
Ref members(Writer& w, const Ref& starts, int64_t rows) {
  const int64_t groups = starts.shape[0] - 1;
  const Shape table{groups, rows};
  const Ref row = w.iota("i32", table, 1);
  const Ref first = w.broadcast(w.slice(starts, 0, 0, groups), table, {0}),
            last = w.broadcast(w.slice(starts, 0, 1, groups + 1), table, {0});
  return w.binary("and", w.compare("GE", row, first), w.compare("LT", row, last));
}

// x [rows, C] -> [groups, rows, C], zero outside of the group.
Ref by_group(Writer& w, const Ref& x, const Ref& member) {
  const Shape shape{member.shape[0], x.shape[0], x.shape[1]};
  return w.select(w.broadcast(member, shape, {0, 1}), w.broadcast(x, shape, {1, 2}),
                  w.number(0, x.element, shape));
}

Refs write_grouped_matmul(Writer& w, const NodeView& n, const Refs& in) {
  const std::string element = element_of_result(n);
  if (n.out(0).count() == 0) return {w.number(0, element, n.out(0).shape)};
  const Ref x = rounded_operand(w, n, in[0]);
  const Ref weights = w.convert(rounded_operand(w, n, in[1]), x.element);
  const Ref member = members(w, in[2], n.in(0).shape[0]);
  const std::string sums = x.element == "f64" ? "f64" : "f32";
  const Ref all = w.dot(by_group(w, x, member), weights, false, n.flag("trans_w"), sums);
  const Ref own = w.select(w.broadcast(member, all.shape, {0, 1}), all, w.number_like(0, all));
  return {w.narrow(w.reduce("add", own, w.number(0, sums), {0}), element)};
}

Refs write_grouped_outer(Writer& w, const NodeView& n, const Refs& in) {
  const Ref x = rounded_operand(w, n, in[0]), y = rounded_operand(w, n, in[1]);
  const std::string sums = x.element == "f64" ? "f64" : "f32";
  Ref z = w.number(0, sums, n.out(0).shape);
  if (n.out(0).count() > 0 && n.in(0).count() > 0) {
    const Ref member = members(w, in[2], n.in(0).shape[0]);
    z = w.dot(by_group(w, x, member), by_group(w, y, member), true, false, sums);
  }
  if (n.has("acc")) z = w.binary("add", w.convert(in[n.slot("acc")], sums), z);
  return {w.narrow(z, element_of_result(n))};
}

}  // namespace

void add_groups(WriteTable& t) {
  t["top_k"] = write_top_k;
  t["group_rows"] = write_group_rows;
  t["grouped_matmul"] = write_grouped_matmul;
  t["grouped_outer"] = write_grouped_outer;
}

}  // namespace hone::xla
