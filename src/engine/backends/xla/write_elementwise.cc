// Elementwise primitives. Those on bf16 and f16 compute in f32 and round once, like the other
// backends; a scalar operand is broadcast.
#include "engine/backends/xla/write_ops.h"

namespace hone::xla {
namespace {

Ref shaped(Writer& w, const Ref& x, const Shape& shape) {
  return x.shape.empty() && !shape.empty() ? w.fill(x, shape) : x;
}

template <const char* const& op>
Refs write_unary(Writer& w, const NodeView& n, const Refs& in) {
  return {w.narrow(w.unary(op, w.widen(in[0])), element_of_result(n))};
}

template <const char* const& op>
Refs write_binary(Writer& w, const NodeView& n, const Refs& in) {
  const Shape& shape = n.out(0).shape;
  const Ref x = w.widen(shaped(w, in[0], shape)), y = w.widen(shaped(w, in[1], shape));
  return {w.narrow(w.binary(op, x, y), element_of_result(n))};
}

// StableHLO's names.
constexpr const char* kNegate = "negate";
constexpr const char* kExp = "exponential";
constexpr const char* kLog = "log";
constexpr const char* kTanh = "tanh";
constexpr const char* kSqrt = "sqrt";
constexpr const char* kSine = "sine";
constexpr const char* kCosine = "cosine";
constexpr const char* kAdd = "add";
constexpr const char* kSubtract = "subtract";
constexpr const char* kMultiply = "multiply";
constexpr const char* kDivide = "divide";
constexpr const char* kMaximum = "maximum";
constexpr const char* kMinimum = "minimum";

Refs write_erf(Writer& w, const NodeView& n, const Refs& in) {
  return {w.narrow(w.erf(w.widen(in[0])), element_of_result(n))};
}

Refs write_compare(Writer& w, const NodeView& n, const Refs& in) {
  static const std::map<std::string, std::string> names{{"eq", "EQ"}, {"ne", "NE"}, {"lt", "LT"},
                                                        {"le", "LE"}, {"gt", "GT"}, {"ge", "GE"}};
  const Shape& shape = n.out(0).shape;
  return {w.compare(names.at(n.text("how")), shaped(w, in[0], shape), shaped(w, in[1], shape))};
}

Refs write_select(Writer& w, const NodeView& n, const Refs& in) {
  const Shape& shape = n.out(0).shape;
  return {w.select(shaped(w, in[0], shape), shaped(w, in[1], shape), shaped(w, in[2], shape))};
}

Refs write_cast(Writer& w, const NodeView& n, const Refs& in) {
  const DType to = n.out(0).dtype;
  if (to == DType::boolean) {
    if (in[0].element == "i1") return {in[0]};
    return {w.compare("NE", in[0], w.number_like(0, in[0]))};
  }
  Ref x = in[0];
  if (n.flag("saturate") && is_float(x) && (to == DType::bf16 || to == DType::f16)) {
    const double most = to == DType::f16 ? 65504 : 0x1.fep127;
    x = w.widen(x);
    const Ref inside = w.binary("maximum", w.number_like(-most, x),
                                w.binary("minimum", x, w.number_like(most, x)));
    const Ref finite = w.compare("LT", w.unary("abs", x), w.number_like(INFINITY, x));
    x = w.select(finite, inside, x);
  }
  return {w.narrow(x, element_of(to))};
}

Refs write_constant(Writer& w, const NodeView& n, const Refs&) {
  return {w.number(n.real("value"), element_of_result(n), n.out(0).shape)};
}

Refs write_iota(Writer& w, const NodeView& n, const Refs&) {
  return {w.iota(element_of_result(n), n.out(0).shape, n.integer("axis"))};
}

}  // namespace

void add_elementwise(WriteTable& t) {
  t["neg"] = write_unary<kNegate>;
  t["exp"] = write_unary<kExp>;
  t["log"] = write_unary<kLog>;
  t["tanh"] = write_unary<kTanh>;
  t["sqrt"] = write_unary<kSqrt>;
  t["sin"] = write_unary<kSine>;
  t["cos"] = write_unary<kCosine>;
  t["add"] = write_binary<kAdd>;
  t["sub"] = write_binary<kSubtract>;
  t["mul"] = write_binary<kMultiply>;
  t["div"] = write_binary<kDivide>;
  t["maximum"] = write_binary<kMaximum>;
  t["minimum"] = write_binary<kMinimum>;
  t["erf"] = write_erf;
  t["compare"] = write_compare;
  t["select"] = write_select;
  t["cast"] = write_cast;
  t["constant"] = write_constant;
  t["iota"] = write_iota;
}

}  // namespace hone::xla
