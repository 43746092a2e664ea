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

// f32 that holds halves: 16 bits of each, all upper ones first, as ui32.
Refs halves_of(Writer& w, const Ref& x, int64_t count) {
  const Ref bits = w.reshape(w.bitcast(w.reshape(x, {count}), "ui32"), {count, 1});
  const Ref low = w.binary("and", bits, w.whole_like(0xffff, bits));
  const Ref high = w.binary("shift_right_logical", bits, w.whole_like(16, bits));
  const Ref all = w.reshape(w.concat({low, high}, 1), {2 * count});
  return {w.slice(all, 0, 0, count), w.slice(all, 0, count, 2 * count)};
}

Refs write_halves(Writer& w, const NodeView& n, const Refs& in) {
  const Shape shape = n.out(0).shape;
  const int64_t count = n.out(0).count();
  if (count == 0) return {in[0]};
  const auto as_f32 = [&](const Ref& bits) { return w.reshape(w.bitcast(bits, "f32"), shape); };
  if (n.flag("joined")) {
    const Refs halves = halves_of(w, in[0], count);
    const Ref &upper = halves[0], &lower = halves[1];
    const Ref sign = w.binary("and", lower, w.whole_like(0x8000, lower));
    const Ref whole =
        w.binary("add", w.binary("shift_left", upper, w.whole_like(16, upper)), lower);
    return {
        as_f32(w.binary("subtract", whole, w.binary("shift_left", sign, w.whole_like(1, sign))))};
  }
  const Ref x = w.reshape(in[0], {count}), bits = w.bitcast(x, "ui32");
  const Ref chosen =
      w.select(w.compare("NE", x, x), w.binary("or", bits, w.whole_like(0x400000, bits)),
               w.binary("add", bits, w.whole_like(0x8000, bits)));
  const Ref upper = w.binary("shift_right_logical", chosen, w.whole_like(16, chosen));
  const Ref lower = w.binary("and", bits, w.whole_like(0xffff, bits));
  const Ref pairs = w.reshape(w.concat({upper, lower}, 0), {count, 2});
  const Ref first = w.slice(pairs, 1, 0, 1), second = w.slice(pairs, 1, 1, 2);
  return {as_f32(w.reshape(
      w.binary("or", first, w.binary("shift_left", second, w.whole_like(16, second))), {count}))};
}

Refs write_upper_half(Writer& w, const NodeView& n, const Refs& in) {
  const int64_t count = n.out(0).count();
  if (count == 0) return {w.number(0, "bf16", n.out(0).shape)};
  const Ref upper = w.convert(halves_of(w, in[0], count)[0], "ui16");
  return {w.reshape(w.bitcast(upper, "bf16"), n.out(0).shape)};
}

}  // namespace

void add_shapes(WriteTable& t) {
  t["reshape"] = write_reshape;
  t["broadcast"] = write_broadcast;
  t["slice"] = write_slice;
  t["transpose"] = write_transpose;
  t["concat"] = write_concat;
  t["gather_rows"] = write_gather_rows;
  t["halves"] = write_halves;
  t["upper_half"] = write_upper_half;
  t["copy"] = t["wait"] = write_same;
}

}  // namespace hone::xla
