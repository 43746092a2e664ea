// adamw_8bit(p..., g..., code1..., absmax1..., code2..., absmax2..., lr, step, g_scale)
//   -> p'..., code1'..., absmax1'..., code2'..., absmax2'...: AdamW (adamw.cc) whose moments are kept as
// bitsandbytes keeps them (Dettmers et al., arXiv 2110.02861): block by block they are made
// numbers, m = dequantize(code1, absmax1), v = dequantize(code2, absmax2), p' comes from the exact
// m' and v', and m' and v' become codes again; m with the signed map, v with the other one
// (quantize_dynamic.cc). Operands as update_parts.h says; codes u8 of p's shape, absmax [ceil(count
// / 256)] of p's element type, f32 for bf16. With rows a block begins at the first of them.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

Types states_adamw_8bit(const NodeView& n) { return states_8bit(n, 2); }
Result<Types> infer_adamw_8bit(const NodeView& n) { return infer_update(n, states_adamw_8bit); }

Values decompose_adamw_8bit(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double beta1 = u.attr("beta1"), beta2 = u.attr("beta2");
  ValueId step_size = ops::div(b, u.lr(), u.one_minus_power(beta1));
  ValueId root = ops::sqrt(b, u.one_minus_power(beta2));
  std::vector<Values> lists(5);  // p, code1, absmax1, code2, absmax2
  for (size_t i = 0; i < u.count(); ++i) {
    ValueId g = u.gradient(i);
    ValueId m = ops::dequantize_dynamic(b, u.state(0, i), u.state(1, i), true);
    ValueId v = ops::dequantize_dynamic(b, u.state(2, i), u.state(3, i), false);
    m = u.mix(m, beta1, g, 1 - beta1);
    v = u.mix(v, beta2, ops::mul(b, g, g), 1 - beta2);
    ValueId change = u.adam_change(m, v, step_size, root);
    const ops::DynamicCodes first = ops::quantize_dynamic(b, m, true),
                            second = ops::quantize_dynamic(b, v, false);
    const ValueId made[] = {ops::sub(b, u.shrunk(i, u.p(i)), change), first.codes, first.absmax,
                            second.codes, second.absmax};
    for (size_t k = 0; k < lists.size(); ++k) lists[k].push_back(made[k]);
  }
  return u.results(lists);
}

Cost cost_adamw_8bit(const NodeView& n) { return update_cost(n, 26); }

}  // namespace

Op define_adamw_8bit() {
  return elementwise_update_op(
      "adamw_8bit", {required("beta1", 0.0), required("beta2", 0.0), required("eps", 0.0)},
      infer_adamw_8bit, decompose_adamw_8bit, cost_adamw_8bit);
}

}  // namespace hone
