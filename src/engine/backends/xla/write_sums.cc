// Reductions, matrix products, scatter-adds. Sums over bf16 and f16 are kept in f32.
#include <limits>

#include "engine/backends/xla/write_ops.h"

namespace hone::xla {
namespace {

Refs write_reduce_sum(Writer& w, const NodeView& n, const Refs& in) {
  const Ref x = w.widen(in[0]);
  return {w.narrow(w.reduce("add", x, w.number(0, x.element), n.integers("axes")),
                   element_of_result(n))};
}

Refs write_reduce_max(Writer& w, const NodeView& n, const Refs& in) {
  const Ref x = w.widen(in[0]);
  double least = -INFINITY;
  if (!is_float(x)) {
    const DType t = n.in(0).dtype;
    least = t == DType::i32   ? std::numeric_limits<int32_t>::min()
            : t == DType::i8  ? std::numeric_limits<int8_t>::min()
            : t == DType::i64 ? static_cast<double>(std::numeric_limits<int64_t>::min())
                              : 0;
  }
  return {w.narrow(w.reduce("maximum", x, w.number(least, x.element), n.integers("axes")),
                   element_of_result(n))};
}

Refs write_matmul(Writer& w, const NodeView& n, const Refs& in) {
  const Ref x = rounded_operand(w, n, in[0]), y = rounded_operand(w, n, in[1]);
  const std::string sums = x.element == "f64" ? "f64" : "f32";
  Ref z = n.out(0).count() == 0 ? w.number(0, sums, n.out(0).shape)
                                : w.dot(x, y, n.flag("trans_x"), n.flag("trans_y"), sums);
  if (n.has("acc")) z = w.binary("add", w.convert(in[n.slot("acc")], sums), z);
  return {w.narrow(z, element_of_result(n))};
}

Refs write_scatter_add_rows(Writer& w, const NodeView& n, const Refs& in) {
  const Ref rows = w.widen(in[1]);
  const bool onto = n.has("acc");
  Ref sums = onto ? w.widen(in[n.slot("acc")]) : w.number(0, rows.element, n.out(0).shape);
  if (n.out(0).count() > 0 && n.in(0).count() > 0) sums = w.add_rows(sums, in[0], rows);
  return {w.narrow(sums, element_of_result(n))};
}

}  // namespace

Ref rounded_operand(Writer& w, const NodeView& n, const Ref& x) {
  if (n.flag("bf16")) return w.narrow(x, "bf16");
  if (n.flag("f16")) return w.narrow(x, "f16");
  return x;
}

void add_sums(WriteTable& t) {
  t["reduce_sum"] = write_reduce_sum;
  t["reduce_max"] = write_reduce_max;
  t["matmul"] = write_matmul;
  t["scatter_add_rows"] = write_scatter_add_rows;
}

}  // namespace hone::xla
