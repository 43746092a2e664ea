// Primitives that only move elements, and copies between spaces, which a program need not do.
#include "engine/backends/xla/write_ops.h"

namespace hone::xla {
namespace {

Refs write_same(Writer&, const NodeView&, const Refs& in) { return {in[0]}; }

Refs write_reshape(Writer& w, const NodeView& n, const Refs& in) {
  return {w.reshape(in[0], n.out(0).shape)};
}

Refs write_broadcast(Writer& w, const NodeView& n, const Refs& in) {
  return {w.broadcast(in[0], n.out(0).shape, n.integers("axes"))};
}

Refs write_slice(Writer& w, const NodeView& n, const Refs& in) {
  return {w.slice(in[0], n.integer("axis"), n.integer("begin"), n.integer("end"))};
}

Refs write_transpose(Writer& w, const NodeView& n, const Refs& in) {
  return {w.transpose(in[0], n.integers("permutation"))};
}

Refs write_concat(Writer& w, const NodeView& n, const Refs& in) {
  return {w.concat(in, n.integer("axis"))};
}

Refs write_gather_rows(Writer& w, const NodeView& n, const Refs& in) {
  const Ref zeros = w.number(0, in[0].element, n.out(0).shape);
  if (in[0].shape[0] == 0 || n.out(0).count() == 0) return {zeros};
  const Ref kept = w.compare("GE", in[1], w.whole_like(0, in[1]));
  return {w.select(w.broadcast(kept, n.out(0).shape, {0}), w.rows(in[0], in[1]), zeros)};
}

}  // namespace

void add_shapes(WriteTable& t) {
  t["reshape"] = write_reshape;
  t["broadcast"] = write_broadcast;
  t["slice"] = write_slice;
  t["transpose"] = write_transpose;
  t["concat"] = write_concat;
  t["gather_rows"] = write_gather_rows;
  t["copy"] = t["wait"] = write_same;
}

}  // namespace hone::xla
