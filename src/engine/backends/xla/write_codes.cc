// bitsandbytes' 8-bit numbers (engine/ops/quantize_dynamic.cc), by the thresholds between the
// numbers of the map.
#include <array>
#include <cmath>

#include "base/core/dynamic_map.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/ops/support.h"

namespace hone::xla {
namespace {

// x > threshold[k] iff its code is above k. A tie goes to the even code.
std::array<double, 255> thresholds(bool is_signed) {
  const std::array<float, 256>& map = dynamic_map(is_signed);
  std::array<double, 255> t{};
  for (size_t k = 0; k < t.size(); ++k) {
    t[k] = (static_cast<double>(map[k]) + static_cast<double>(map[k + 1])) / 2;
    if (k % 2 == 1) t[k] = std::nextafter(t[k], -INFINITY);
  }
  return t;
}

Refs write_quantize_dynamic(Writer& w, const NodeView& n, const Refs& in) {
  const bool is_signed = n.flag("signed");
  const int64_t count = n.in(0).count(), blocks = dynamic_blocks(count);
  if (count == 0)
    return {w.number(0, "ui8", n.out(0).shape), w.number(0, in[0].element, n.out(1).shape)};
  const Ref x = w.reshape(w.flat(w.widen(in[0]), blocks * kDynamicBlock), {blocks, kDynamicBlock});
  const Ref absmax = w.reduce("maximum", w.unary("abs", x), w.number(0, x.element), {1});
  const Ref most = w.broadcast(w.convert(absmax, "f64"), x.shape, {0});
  const Ref ratio = w.binary("divide", w.convert(x, "f64"), most);
  const std::array<double, 255> bounds = thresholds(is_signed);
  const Ref bound = w.table("f64", {255}, bounds.data(), sizeof bounds);
  const Shape table{blocks, kDynamicBlock, 255};
  const Ref above =
      w.compare("GT", w.broadcast(ratio, table, {0, 1}), w.broadcast(bound, table, {2}));
  Ref code = w.reduce("add", w.convert(above, "i32"), w.whole(0, "i32"), {2});
  if (is_signed) {
    const std::array<float, 256>& map = dynamic_map(true);
    const auto zero = static_cast<uint64_t>(std::find(map.begin(), map.end(), 0.0f) - map.begin());
    const Ref sign = w.bitcast(ratio, "i64");
    const Ref becomes_zero = w.binary("and", w.compare("LT", sign, w.whole_like(0, sign)),
                                      w.compare("EQ", code, w.whole_like(zero, code)));
    code = w.select(becomes_zero, w.whole_like(zero - 1, code), code);
  }
  code = w.select(w.compare("GT", most, w.number_like(0, most)), code, w.whole_like(0, code));
  const Ref flat =
      w.slice(w.reshape(w.convert(code, "ui8"), {blocks * kDynamicBlock}), 0, 0, count);
  return {w.reshape(flat, n.out(0).shape), w.narrow(absmax, in[0].element)};
}

Refs write_dequantize_dynamic(Writer& w, const NodeView& n, const Refs& in) {
  const int64_t count = n.in(0).count(), blocks = dynamic_blocks(count);
  if (count == 0) return {w.number(0, in[1].element, n.out(0).shape)};
  const Ref absmax = w.widen(in[1]);
  const Ref map =
      w.convert(w.table("f32", {256}, dynamic_map(n.flag("signed")).data(), 1024), absmax.element);
  const Ref numbers = w.rows(map, w.convert(w.reshape(in[0], {count}), "i32"));
  const Ref scale =
      w.reshape(w.broadcast(absmax, {blocks, kDynamicBlock}, {0}), {blocks * kDynamicBlock});
  const Ref x = w.binary("multiply", numbers, w.slice(scale, 0, 0, count));
  return {w.narrow(w.reshape(x, n.out(0).shape), element_of_result(n))};
}

}  // namespace

void add_codes(WriteTable& t) {
  t["quantize_dynamic"] = write_quantize_dynamic;
  t["dequantize_dynamic"] = write_dequantize_dynamic;
}

}  // namespace hone::xla
