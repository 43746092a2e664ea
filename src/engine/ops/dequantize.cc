// dequantize(payload, scales?, nested_scales?, offset?): the matrix that is kept in few bits, by
// the scheme (block_schemes.h).   payload u8[N,P], scales f32 of scale_count, none where blocks
// hold them; or u8 with nested_scales f32[ceil(scale_count / 256)] and offset f32[] -> [N,K] of
// attribute dtype. An op with attribute scheme takes the operands itself (pass fuse).
#include "engine/ops/block_schemes.h"
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_dequantize(const NodeView& n) {
  const BlockScheme* scheme = block_scheme(n.text("scheme"));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(check_payload(n, *scheme, n.in(0)));
  DType dtype = HONE_TRY(dtype_named(n.text("dtype")));
  const Shape shape{n.in(0).shape[0], scheme->columns(n.in(0).shape[1])};
  HONE_TRY(check_block_scales(n, *scheme, shape));
  return Types{{dtype, shape}};
}

Values grad_dequantize(Builder&, const NodeView& n, const Values&) {
  return Values(n.inputs(), kNoValue);
}

Cost cost_dequantize(const NodeView& n) { return elementwise(n, 2); }

}  // namespace

std::vector<std::string> scheme_choices(bool scales_inside) {
  std::vector<std::string> names;
  for (const BlockScheme& s : block_schemes())
    if (s.scales_inside() || !scales_inside) names.push_back(s.name);
  names.emplace_back();
  return names;
}

Status check_payload(const NodeView& n, const BlockScheme& scheme, const Type& payload) {
  if (payload.dtype != DType::u8) return bad_operands(n, "the payload is not u8");
  if (payload.shape[1] % scheme.bytes == 0) return Ok{};
  return bad_operands(n,
                      fmt::format("rows of {} are blocks of {} bytes", scheme.name, scheme.bytes));
}

Status check_block_scales(const NodeView& n, const BlockScheme& scheme, const Shape& shape) {
  if (scheme.scales_inside()) {
    if (!n.has("scales") && !n.has("nested_scales") && !n.has("offset")) return Ok{};
    return bad_operands(n, fmt::format("blocks of {} hold their scales", scheme.name));
  }
  const int64_t count = scheme.scale_count(shape[0], shape[1]);
  if (!n.has("scales") || n.in("scales").shape != Shape{count})
    return bad_operands(n, fmt::format("{} of these sizes has {} scales", scheme.name, count));
  const bool nested = n.in("scales").dtype == DType::u8;
  if (n.has("nested_scales") != nested || n.has("offset") != nested)
    return bad_operands(n, "scales in u8 come with nested_scales and an offset, others without");
  if (!nested) return expect_float(n, n.slot("scales"));
  const Shape second{(count + kNestedBlock - 1) / kNestedBlock};
  if (n.in("nested_scales").shape != second || n.in("offset").rank() != 0)
    return bad_operands(n, fmt::format("one of nested_scales serves {} scales", kNestedBlock));
  return Ok{};
}

Op define_dequantize() {
  return {.name = "dequantize",
          .operands = {"payload", "scales?", "nested_scales?", "offset?"},
          .attrs = {required("scheme", std::string(), block_scheme_names()), {"dtype", "f32"}},
          .infer = infer_dequantize,
          .grad = grad_dequantize,
          .cost = cost_dequantize,
          .widens = true};
}

ValueId ops::dequantize(Builder& b, const InBlocks& w, DType dtype) {
  Attrs attrs{{"scheme", w.scheme}};
  if (dtype != DType::f32) attrs.set("dtype", std::string(name_of(dtype)));
  return b.emit1("dequantize", {w.payload, w.scales, w.nested_scales, w.offset}, attrs);
}

}  // namespace hone
