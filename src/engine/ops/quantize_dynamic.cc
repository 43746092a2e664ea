// quantize_dynamic(x) -> codes, absmax: the block-wise 8-bit format of bitsandbytes (Dettmers et
// al., arXiv 2110.02861). A block is 256 elements in row-major order, the last one may be shorter;
// absmax is the largest magnitude of each block and codes the nearest value of the dynamic map to x
// / absmax. x float of any shape -> codes u8 of its shape, absmax [ceil(count / 256)] of its
// element type.
//
// The map is that of base/core/dynamic_map.h. A tie goes to the even code. A negative number never
// becomes the code of 0: where `signed` and the nearest is 0, it becomes the largest negative
// value. In a block whose absmax is 0 all codes are 0.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_quantize_dynamic(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  const Type& x = n.in("x");
  return Types{{DType::u8, x.shape}, {x.dtype, {dynamic_blocks(x.count())}}};
}

Cost cost_quantize_dynamic(const NodeView& n) { return elementwise(n, 4); }

}  // namespace

Op define_quantize_dynamic() {
  return {.name = "quantize_dynamic",
          .operands = {"x"},
          .attrs = {{"signed", true}},
          .infer = infer_quantize_dynamic,
          .cost = cost_quantize_dynamic};
}

ops::DynamicCodes ops::quantize_dynamic(Builder& b, ValueId x, bool is_signed) {
  const Values y = b.emit("quantize_dynamic", {x}, {{"signed", is_signed}});
  return {y[0], y[1]};
}

}  // namespace hone
