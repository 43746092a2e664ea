// adamw_4bit(p..., g..., code1..., scale1..., code2..., scale2..., lr, step, g_scale)
//   -> p'..., code1'..., scale1'..., code2'..., scale2'...: AdamW (adamw.cc) whose moments are kept as
// torchao's AdamW4bit keeps them (B. Li et al., arXiv 2309.01507): m and v are made numbers, p' comes
// from the exact m' and v', and m' and v' become codes again; m with the signed map of 4 bits, v with
// the one that has no 0 (base/core/dynamic_map.h). A block is 128 elements in row-major order; its
// scale is its largest magnitude, at least 1e-12. Operands as update_parts.h says; codes u8 [count / 2],
// the first of two in the high half of a byte, scale [count / 128] of p's element type, f32 for bf16.
// Each p, or its updated rows, is whole blocks.
#include "base/core/dynamic_map.h"
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

constexpr int64_t kBlock4bit = 128;

Types states_4bit(const NodeView& n) {
  Types codes, scales, all;
  for (size_t i = 0; i < static_cast<size_t>(n.integer("count")); ++i) {
    const Type part = updated_part(n, i);
    codes.push_back({DType::u8, {part.count() / 2}});
    scales.push_back({wide(part.dtype), {part.count() / kBlock4bit}});
  }
  for (int moment = 0; moment < 2; ++moment)
    for (const Types* list : {&codes, &scales}) all.insert(all.end(), list->begin(), list->end());
  return all;
}

Result<Types> infer_adamw_4bit(const NodeView& n) {
  Types types = HONE_TRY(infer_update(n, states_4bit));
  for (size_t i = 0; i < static_cast<size_t>(n.integer("count")); ++i)
    if (const int64_t count = updated_part(n, i).count(); count == 0 || count % kBlock4bit != 0)
      return bad_operands(n, fmt::format("{} elements of tensor {} are not whole blocks of {}",
                                         count, i, kBlock4bit));
  return types;
}

ValueId numbers_of_4bit(Builder& b, ValueId codes, ValueId scales, ValueId like, bool is_signed) {
  const ValueId payload = ops::reshape(b, codes, {1, b.type(codes).count()});
  const ValueId x =
      ops::dequantize(b, {is_signed ? "dynamic4" : "linear4", payload, scales}, b.type(like).dtype);
  return ops::reshape(b, x, b.type(like).shape);
}

struct FourBits {
  ValueId codes, scales;
};
FourBits codes_of_4bit(Builder& b, ValueId x, bool is_signed) {
  const int64_t count = b.type(x).count(), blocks = count / kBlock4bit;
  const DType dtype = b.type(x).dtype;
  x = ops::reshape(b, x, {blocks, kBlock4bit});
  const ValueId most = ops::reduce_max(b, ops::maximum(b, x, ops::neg(b, x)), {1});
  const ValueId scales = ops::maximum(b, most, number(b, 1e-12, x));
  const ValueId ratio = ops::div(b, x, ops::broadcast(b, scales, {blocks, kBlock4bit}, {0}));
  ValueId code = kNoValue;  // the number of bounds that are not larger
  for (const float bound : four_bit_map(is_signed).above) {
    const ValueId one =
        ops::cast(b, ops::compare(b, ratio, number(b, double{bound}, x), "ge"), dtype);
    code = code == kNoValue ? one : ops::add(b, code, one);
  }
  code = ops::reshape(b, code, {count / 2, 2});
  const ValueId high = ops::slice(b, code, 1, 0, 1), low = ops::slice(b, code, 1, 1, 2);
  const ValueId both = ops::add(b, ops::mul(b, high, number(b, 16, x)), low);
  return {ops::cast(b, ops::reshape(b, both, {count / 2}), DType::u8), scales};
}

Values decompose_adamw_4bit(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double beta1 = u.attr("beta1"), beta2 = u.attr("beta2");
  const ValueId step_size = ops::div(b, u.lr(), u.one_minus_power(beta1));
  const ValueId root = ops::sqrt(b, u.one_minus_power(beta2));
  std::vector<Values> lists(5);  // p, code1, scale1, code2, scale2
  for (size_t i = 0; i < u.count(); ++i) {
    const ValueId g = u.gradient(i);
    ValueId m = numbers_of_4bit(b, u.state(0, i), u.state(1, i), g, true);
    ValueId v = numbers_of_4bit(b, u.state(2, i), u.state(3, i), g, false);
    m = u.mix(m, beta1, g, 1 - beta1);
    v = u.mix(v, beta2, ops::mul(b, g, g), 1 - beta2);
    const ValueId change = u.adam_change(m, v, step_size, root);
    const FourBits first = codes_of_4bit(b, m, true), second = codes_of_4bit(b, v, false);
    const ValueId made[] = {ops::sub(b, u.shrunk(i, u.p(i)), change), first.codes, first.scales,
                            second.codes, second.scales};
    for (size_t k = 0; k < lists.size(); ++k) lists[k].push_back(made[k]);
  }
  return u.results(lists);
}

Cost cost_adamw_4bit(const NodeView& n) { return update_cost(n, 56); }

}  // namespace

Op define_adamw_4bit() {
  return elementwise_update_op(
      "adamw_4bit", {required("beta1", 0.0), required("beta2", 0.0), required("eps", 0.0)},
      infer_adamw_4bit, decompose_adamw_4bit, cost_adamw_4bit);
}

}  // namespace hone
