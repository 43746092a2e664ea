// soft_cross_entropy(logits, targets, scale): nll[t] = -(the sum over v of targets[t,v] log softmax(logits[t])[v]),
// loss = scale * the sum of nll. logits, targets [T,V], scale [] -> loss [], nll [T]. The targets of a row may have
// any sum; logits alone have a gradient.
#include "engine/ops/image_ops.h"
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_soft_cross_entropy(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_same(n, 0, 1));
  const Type& logits = n.in(0);
  HONE_TRY(expect_type(n, 2, {logits.dtype, {}}));
  if (logits.shape[1] < 1) return bad_operands(n, "there is no class");
  return Types{{logits.dtype, {}}, {logits.dtype, {logits.shape[0]}}};
}

struct Parts {
  ValueId shifted, sum;  // logits - their maximum [T,V], the sum of its exponentials [T]
};
Parts parts_of(Builder& b, ValueId logits) {
  const Type type = b.type(logits);
  const ValueId most = ops::reduce_max(b, logits, {1});
  const ValueId shifted = ops::sub(b, logits, along_rows(b, most, type));
  return {shifted, ops::reduce_sum(b, ops::exp(b, shifted), {1})};
}

Values decompose_soft_cross_entropy(Builder& b, const NodeView& n) {
  const ValueId targets = n.input("targets"), scale = n.input("scale");
  const Parts p = parts_of(b, n.input("logits"));
  const ValueId all = ops::reduce_sum(b, targets, {1});
  const ValueId nll = ops::sub(b, ops::mul(b, all, ops::log(b, p.sum)),
                               ops::reduce_sum(b, ops::mul(b, targets, p.shifted), {1}));
  return {ops::mul(b, scale, ops::reduce_sum(b, nll, {0})), nll};
}

Values grad_soft_cross_entropy(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(d[1] != kNoValue, "soft_cross_entropy: nll is a residual without gradients");
  const ValueId targets = n.input("targets"), scale = n.input("scale");
  const Parts p = parts_of(b, n.input("logits"));
  const Type type = b.type(p.shifted);
  const ValueId share =
      ops::div(b, ops::reduce_sum(b, targets, {1}), p.sum);  // of each exponential
  const ValueId wanted =
      ops::sub(b, ops::mul(b, ops::exp(b, p.shifted), along_rows(b, share, type)), targets);
  return {ops::mul(b, wanted, ops::mul(b, d[0], scale)), kNoValue, kNoValue};
}

}  // namespace

Op define_soft_cross_entropy() {
  return {.name = "soft_cross_entropy",
          .operands = {"logits", "targets", "scale"},
          .infer = infer_soft_cross_entropy,
          .decompositions = {decompose_soft_cross_entropy},
          .grad = grad_soft_cross_entropy,
          .cost = [](const NodeView& n) { return elementwise(n, 25); }};
}

ops::SoftCrossEntropy ops::soft_cross_entropy(Builder& b, ValueId logits, ValueId targets,
                                              ValueId scale) {
  const Values v = b.emit("soft_cross_entropy", {logits, targets, scale});
  return {v[0], v[1]};
}

}  // namespace hone
