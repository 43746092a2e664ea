// dequantize_dynamic(codes, absmax) -> x = map[codes] * absmax of the block, as quantize_dynamic.cc
// defines them.   codes u8 of any shape, absmax [ceil(count / 256)] float -> its element type, the
// shape of codes
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_dequantize_dynamic(const NodeView& n) {
  HONE_TRY(expect_float(n, 1));
  const Type &codes = n.in("codes"), &absmax = n.in("absmax");
  if (codes.dtype != DType::u8) return bad_operands(n, "the codes must be u8");
  HONE_TRY(expect_type(n, 1, {absmax.dtype, {dynamic_blocks(codes.count())}}));
  return Types{{absmax.dtype, codes.shape}};
}

Cost cost_dequantize_dynamic(const NodeView& n) { return elementwise(n, 1); }

}  // namespace

Op define_dequantize_dynamic() {
  return {.name = "dequantize_dynamic",
          .operands = {"codes", "absmax"},
          .attrs = {{"signed", true}},
          .infer = infer_dequantize_dynamic,
          .cost = cost_dequantize_dynamic};
}

ValueId ops::dequantize_dynamic(Builder& b, ValueId codes, ValueId absmax, bool is_signed) {
  return b.emit1("dequantize_dynamic", {codes, absmax}, {{"signed", is_signed}});
}

}  // namespace hone
