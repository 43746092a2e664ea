// lion_8bit(p..., g..., code1..., absmax1..., lr, step, g_scale) -> p'..., code1'..., absmax1'...:
// Lion (lion.cc) whose momentum is kept as bitsandbytes keeps it: m = dequantize(code1, absmax1)
// with the signed map (quantize_dynamic.cc), and m' becomes codes again.
// Operands as update_parts.h says; codes u8 of p's shape, absmax [ceil(count / 256)] of p's element
// type. With rows a block begins at the first of them.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Types states_lion_8bit(const NodeView& n) { return states_8bit(n, 1); }
Result<Types> infer_lion_8bit(const NodeView& n) { return infer_update(n, states_lion_8bit); }

Values decompose_lion_8bit(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double beta1 = u.attr("beta1"), beta2 = u.attr("beta2");
  Values p, codes, absmax;
  for (size_t i = 0; i < u.count(); ++i) {
    ValueId g = u.gradient(i);
    ValueId m = ops::dequantize_dynamic(b, u.state(0, i), u.state(1, i), true);
    ValueId sign = u.sign(u.mix(m, beta1, g, 1 - beta1));
    p.push_back(ops::sub(b, u.shrunk(i, u.p(i)), u.times(sign, u.lr())));
    const ops::DynamicCodes next = ops::quantize_dynamic(b, u.mix(m, beta2, g, 1 - beta2), true);
    codes.push_back(next.codes);
    absmax.push_back(next.absmax);
  }
  return u.results({p, codes, absmax});
}

Cost cost_lion_8bit(const NodeView& n) { return update_cost(n, 16); }

}  // namespace

Op define_lion_8bit() {
  return elementwise_update_op("lion_8bit", {required("beta1", 0.0), required("beta2", 0.0)},
                               infer_lion_8bit, decompose_lion_8bit, cost_lion_8bit);
}

}  // namespace hone
