// linear_cross_entropy(x, w, labels, scale, dw_acc?, bias?, weights?): the loss of a language-model
// head whose logits x w^T + bias are never held whole by a fused kernel:
//   nll[t] = logsumexp_v(logits[t,:]) - logits[t, labels[t]], 0 where labels[t] < 0 (ignored),
//   loss = scale * sum weights[t] nll[t],   correct[t] = (first largest logit is the label),
// and with attributes dw, dx, dbias, all made in the same visit (p = softmax, onehot of the label,
// ignored rows 0):
//   dlogits = scale weights[t] (p - onehot),   dw = dw_acc + dlogits^T x,   dx = dlogits w,
//   dbias = column sums of dlogits.
// Without weights each is 1. A gradient of nll makes the node again, with that gradient as weights:
// a loss of any form of nll costs one product more than a sum of it.
// Attribute smoothing e (0 when absent): the label stands for q = (1-e) onehot + e/V, so
//   nll[t] = logsumexp_v(logits[t,:]) - sum_v q_v logits[t,v],   dlogits = scale (p - q).
// Attribute softcap c (0: none): logits z become c tanh(z / c), and dlogits is multiplied by
// 1 - tanh(z / c)^2.
// With attribute bf16, or f16, the operands of the three products are rounded to it, and x and w may
// be kept in that type. Attribute logits: the type that x w^T is rounded to before all else; `as`:
// the type of dx. With attribute scheme w is u8 in blocks that hold their scales
// (block_schemes.h), frozen. x [T,C], w [V,C], labels i32[T], scale [], bias [V], weights [T] -> loss
// [], nll [T], correct i32[T], and as asked for dw [V,C], dx [T,C], dbias [V].
#include <algorithm>

#include "engine/ops/block_schemes.h"
#include "engine/ops/support.h"

namespace hone {
namespace {

constexpr size_t kReports = 3;  // results that are always there
constexpr const char* kGradients[] = {"dw", "dx", "dbias"};

// The place of a gradient among the results; 0: not asked for.
size_t place_of(const NodeView& n, const std::string& gradient) {
  size_t at = kReports;
  for (const char* g : kGradients) {
    const bool there = n.flag(g);
    if (gradient == g) return there ? at : 0;
    at += there ? 1 : 0;
  }
  return 0;
}

// The type of a bias and of gradients: x's, unless x is kept in the type that it is rounded to.
DType own_type(const NodeView& n) {
  const DType t = n.in("x").dtype;
  return rounded_to(n) == t ? wide(t) : t;
}

Result<Types> infer_linear_cross_entropy(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_rank(n, 1, 2));
  const Type& x = n.in("x");
  Type w = n.in("w");
  const BlockScheme* scheme = block_scheme(n.text("scheme"));
  if (scheme != nullptr) {
    HONE_TRY(check_payload(n, *scheme, w));
    if (n.flag("dw")) return bad_operands(n, "a weight in blocks has no gradient");
    w.shape[1] = scheme->columns(w.shape[1]);
  }
  if (x.shape[1] != w.shape[1]) return bad_operands(n, "inner sizes differ");
  if (scheme == nullptr) HONE_TRY(product_type(n, n.slot("x"), n.slot("w")));
  HONE_TRY(expect_type(n, n.slot("labels"), {DType::i32, {x.shape[0]}}));
  const DType own = own_type(n), sums = wide(own);
  HONE_TRY(expect_type(n, n.slot("scale"), {sums, {}}));
  const Type by_row{sums, {x.shape[0]}};
  if (n.has("weights")) HONE_TRY(expect_type(n, n.slot("weights"), by_row));
  Types t{{sums, {}}, by_row, {DType::i32, {x.shape[0]}}};
  if (n.real("softcap") < 0)
    return bad_operands(n, fmt::format("softcap={} is negative", n.real("softcap")));
  const double smoothing = n.real("smoothing");
  if (!(smoothing >= 0 && smoothing <= 1))
    return bad_operands(n, fmt::format("smoothing={} is not a share", smoothing));
  const Type bias{own, {w.shape[0]}}, dw{own, w.shape};
  if (n.flag("dw")) t.push_back(dw);
  if (n.flag("dx")) t.push_back({HONE_TRY(kept_type(n, own)), x.shape});
  if (n.flag("dbias")) t.push_back(bias);
  if (n.has("dw_acc") && !n.flag("dw"))
    return bad_operands(n, "an accumulator of dw needs attribute dw");
  if (n.has("dw_acc")) HONE_TRY(expect_type(n, n.slot("dw_acc"), dw));
  if (n.has("bias")) HONE_TRY(expect_type(n, n.slot("bias"), bias));
  if (n.flag("dbias") && !n.has("bias")) return bad_operands(n, "attribute dbias needs a bias");
  return t;
}

// Whether the first column that holds the largest logit is the label.
ValueId correct_of(Builder& b, ValueId logits, ValueId largest, ValueId labels, ValueId valid) {
  const Type type = b.type(logits), index{DType::i32, type.shape};
  const ValueId zero = ops::constant(b, 0, {DType::i32, {}});
  // It is the largest of -column over those.
  const ValueId hit = ops::compare(b, logits, along_rows(b, largest, type), "eq");
  const ValueId none = ops::constant(b, -static_cast<double>(type.shape[1]), {DType::i32, {}});
  const ValueId negative = ops::sub(b, zero, ops::iota(b, index, 1));
  const ValueId first = ops::reduce_max(b, ops::select(b, hit, negative, none), {1});
  const ValueId is_label = ops::compare(b, first, ops::sub(b, zero, labels), "eq");
  return ops::cast(b, ops::minimum(b, valid, is_label), DType::i32);
}

Values decompose_linear_cross_entropy(Builder& b, const NodeView& n) {
  const Type w = n.in("w");
  const DType own = own_type(n), by = rounded_to(n);
  const Type logits_type{wide(own), {n.in("x").shape[0], w.shape[0]}},
      index{DType::i32, logits_type.shape};
  const ValueId x = ops::cast(b, n.input("x"), own);
  const ValueId weight =
      n.text("scheme").empty()
          ? ops::cast(b, n.input("w"), own)
          : ops::dequantize(b, {.scheme = n.text("scheme"), .payload = n.input("w")}, own);
  ValueId logits = ops::matmul(b, x, weight, false, true, by);
  if (!n.text("logits").empty())
    logits = ops::cast(b, logits, n.text("logits") == "bf16" ? DType::bf16 : DType::f16);
  logits = ops::cast(b, logits, logits_type.dtype);
  if (n.has("bias"))
    logits = ops::add(b, logits,
                      ops::broadcast(b, ops::cast(b, n.input("bias"), logits_type.dtype),
                                     logits_type.shape, {1}));
  const double softcap = n.real("softcap");
  ValueId tangent = kNoValue;
  if (softcap > 0) logits = cap_scores(b, logits, softcap, &tangent);
  ValueId largest = ops::reduce_max(b, logits, {1});
  ValueId e = ops::exp(b, ops::sub(b, logits, along_rows(b, largest, logits_type)));
  ValueId sum = ops::reduce_sum(b, e, {1});
  ValueId lse = ops::add(b, ops::log(b, sum), largest);
  ValueId column = ops::iota(b, index, 1);
  ValueId onehot = ops::compare(b, column, along_rows(b, n.input("labels"), index), "eq");
  ValueId zero = number(b, 0, logits);
  ValueId picked = ops::reduce_sum(b, ops::select(b, onehot, logits, zero), {1});
  const double smoothing = n.real("smoothing");
  const double share = smoothing / static_cast<double>(w.shape[0]);  // of each column
  if (smoothing != 0) {
    ValueId all = ops::reduce_sum(b, logits, {1});
    picked = ops::add(b, ops::mul(b, picked, number(b, 1 - smoothing, picked)),
                      ops::mul(b, all, number(b, share, all)));
  }
  ValueId valid = ops::compare(b, n.input("labels"), ops::constant(b, 0, {DType::i32, {}}), "ge");
  ValueId nll = ops::select(b, valid, ops::sub(b, lse, picked), zero);
  const bool weighs = n.has("weights");
  const ValueId weighted = weighs ? ops::mul(b, nll, n.input("weights")) : nll;
  ValueId loss = ops::mul(b, ops::reduce_sum(b, weighted, {0}), n.input("scale"));

  Values out{loss, nll, correct_of(b, logits, largest, n.input("labels"), valid)};
  if (!place_of(n, "dw") && !place_of(n, "dx") && !place_of(n, "dbias")) return out;

  ValueId p = ops::div(b, e, along_rows(b, sum, logits_type));
  ValueId q = ops::cast(b, onehot, logits_type.dtype);
  if (smoothing != 0)
    q = ops::add(b, ops::mul(b, q, number(b, 1 - smoothing, q)), number(b, share, q));
  ValueId d = ops::sub(b, p, q);
  ValueId rows = ops::broadcast(b, valid, logits_type.shape, {0});
  d = ops::mul(b, ops::select(b, rows, d, zero), n.input("scale"));
  if (softcap > 0) d = ops::mul(b, d, ops::sub(b, number(b, 1, d), ops::mul(b, tangent, tangent)));
  if (weighs) d = ops::mul(b, d, along_rows(b, n.input("weights"), logits_type));
  d = ops::cast(b, d, own);
  // dx comes first: the memory of a weight that was gathered for its products is free before dw is made.
  ValueId dx = kNoValue;
  if (const size_t at = place_of(n, "dx"); at != 0)
    dx = ops::cast(b, ops::matmul(b, d, weight, false, false, by), n.out(at).dtype);
  if (place_of(n, "dw")) {
    const ValueId dw = ops::matmul(b, d, x, true, false, by);
    out.push_back(n.has("dw_acc") ? ops::add(b, n.input("dw_acc"), dw) : dw);
  }
  if (dx != kNoValue) out.push_back(dx);
  if (place_of(n, "dbias")) out.push_back(ops::reduce_sum(b, d, {0}));
  return out;
}

// A state that is not trained has no gradient, nor what is widened from blocks.
bool is_frozen(const Program& p, ValueId v) {
  for (const Node& n : p.nodes)
    if (n.op->widens && n.out[0] == v) return true;
  return std::any_of(p.states.begin(), p.states.end(),
                     [v](const State& s) { return s.value == v && !s.trainable; });
}

// Those of x, w and bias for a gradient `by` of nll.
Values grads_of_nll(Builder& b, const NodeView& n, ValueId by) {
  Attrs attrs = n.attrs();
  const bool wanted[] = {!is_frozen(n.program, n.input("w")), true,
                         n.has("bias") && !is_frozen(n.program, n.input("bias"))};  // dw, dx, dbias
  for (size_t i = 0; i < std::size(wanted); ++i)
    wanted[i] ? attrs.set(kGradients[i], true) : attrs.erase(kGradients[i]);
  Values in(n.slot("weights") + 1, kNoValue);
  for (const char* operand : {"x", "w", "labels", "bias"})
    if (n.has(operand)) in[n.slot(operand)] = n.input(operand);
  in[n.slot("scale")] = number(b, 1, by);
  in[n.slot("weights")] = by;
  Values g(n.inputs(), kNoValue);
  const size_t slots[] = {n.slot("w"), n.slot("x"), n.slot("bias")};
  const Values made = b.emit("linear_cross_entropy", in, attrs);
  for (size_t i = 0, at = kReports; i < std::size(wanted); ++i)
    if (wanted[i]) g[slots[i]] = made[at++];
  return g;
}

Values grad_linear_cross_entropy(Builder& b, const NodeView& n, const Values& d) {
  if (d[0] == kNoValue) return grads_of_nll(b, n, d[1]);
  const auto missing = [&](const char* operand, const char* gradient) {
    return n.has(operand) && !place_of(n, gradient) && !is_frozen(n.program, n.input(operand));
  };
  HONE_BUG_IF(!place_of(n, "dx") || missing("w", "dw") || missing("bias", "dbias"),
              "linear_cross_entropy needs dw, dx and with a bias dbias for its gradient");
  HONE_BUG_IF(d[1] != kNoValue, "linear_cross_entropy: a gradient of loss or of nll, not of both");
  HONE_BUG_IF(n.has("dw_acc"), "linear_cross_entropy: dw is already accumulated");
  Values g(n.inputs(), kNoValue);
  g[n.slot("x")] = n.output(place_of(n, "dx"));
  if (place_of(n, "dw")) g[n.slot("w")] = n.output(place_of(n, "dw"));
  if (place_of(n, "dbias")) g[n.slot("bias")] = n.output(place_of(n, "dbias"));
  if (n.has("weights")) g[n.slot("weights")] = ops::mul(b, n.output(1), n.input("scale"));
  if (is_constant(b, d[0], 1)) return g;
  ValueId by = ops::cast(b, d[0], b.type(g[n.slot("x")]).dtype);
  for (ValueId& v : g)
    if (v != kNoValue) v = ops::mul(b, v, by);
  return g;
}

Cost cost_linear_cross_entropy(const NodeView& n) {
  Cost c = product_cost(n, n.in(0).count(), n.in(1).shape[0]);
  c.flops *= 1 + (n.flag("dw") ? 1 : 0) + (n.flag("dx") ? 1 : 0);
  return c;
}

}  // namespace

Op define_linear_cross_entropy() {
  return {.name = "linear_cross_entropy",
          .operands = {"x", "w", "labels", "scale", "dw_acc?", "bias?", "weights?"},
          .attrs = with_rounding({{"dw", false},
                                  {"dx", false},
                                  {"dbias", false},
                                  {"smoothing", 0.0},
                                  {"softcap", 0.0},
                                  {"scheme", "", scheme_choices(true)},
                                  {"logits", "", {"bf16", "f16"}},
                                  kept_attr()}),
          .infer = infer_linear_cross_entropy,
          .decompositions = {decompose_linear_cross_entropy},
          .grad = grad_linear_cross_entropy,
          .cost = cost_linear_cross_entropy,
          .over = {{kReports, "dw_acc", true}},
          .optional_results = {std::begin(kGradients), std::end(kGradients)},
          .product = true};
}

ops::CrossEntropy ops::linear_cross_entropy(Builder& b, ValueId x, ValueId w, ValueId labels,
                                            ValueId scale, bool grads, double smoothing,
                                            ValueId bias, double softcap) {
  Attrs attrs;
  if (softcap > 0) attrs.set("softcap", softcap);
  if (smoothing != 0) attrs.set("smoothing", smoothing);
  // dw, dx, dbias
  const bool wanted[] = {grads && !is_frozen(b.program(), w), grads,
                         grads && bias != kNoValue && !is_frozen(b.program(), bias)};
  for (size_t i = 0; i < std::size(wanted); ++i)
    if (wanted[i]) attrs.set(kGradients[i], true);
  Values in{x, w, labels, scale};
  if (bias != kNoValue) in.insert(in.end(), {kNoValue, bias});
  const Values v = b.emit("linear_cross_entropy", in, attrs);
  ValueId made[] = {kNoValue, kNoValue, kNoValue};
  for (size_t i = 0, at = kReports; i < std::size(wanted); ++i)
    if (wanted[i]) made[i] = v[at++];
  return {v[0], v[1], v[2], made[1], made[0], made[2]};
}

}  // namespace hone
