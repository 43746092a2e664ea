#include "engine/ops/norm_parts.h"

namespace hone {

Status expect_channels(const NodeView& n, size_t i, const Type& x) {
  const DType t = n.in(i).dtype == x.dtype ? x.dtype : wide(x.dtype);
  return expect_type(n, i, {t, {x.shape[1]}});
}

Status expect_rows_like(const NodeView& n, size_t i, const Type& x) {
  HONE_TRY(expect_float(n, i));
  const DType t = n.in(i).dtype;
  const bool converts = t != DType::f64 && x.dtype != DType::f64;
  return expect_type(n, i, {converts ? t : x.dtype, x.shape});
}

bool is_mixed(const NodeView& n, std::initializer_list<size_t> rows) {
  const DType x = n.in(0).dtype;
  if (n.in(1).dtype != x || n.out(0).dtype != x) return true;
  for (const size_t i : rows)
    if (n.has(i) && n.in(i).dtype != x) return true;
  return false;
}

Values emit_wide(Builder& b, const NodeView& n, DType w) {
  Values in;
  for (size_t i = 0; i < n.inputs(); ++i)
    in.push_back(!n.has(i)                 ? kNoValue
                 : is_float(n.in(i).dtype) ? ops::cast(b, n.input(i), w)
                                           : n.input(i));
  Attrs attrs = n.attrs();
  attrs.erase("as");
  attrs.erase("sums");
  const Op& op = *n.node.op;
  return b.emit(op.name, in, attrs);
}

}  // namespace hone
