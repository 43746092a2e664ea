#include "engine/ops/update_parts.h"

namespace hone {
namespace {

const Type kScalar{DType::f64, {}};

size_t count_of(const NodeView& n) { return static_cast<size_t>(n.integer("count")); }

// Attribute round_keys; empty: results are rounded to the nearest.
std::vector<int64_t> rounding_keys(const NodeView& n) {
  return n.node.op->attr("round_keys") ? n.integers("round_keys") : std::vector<int64_t>();
}

Status expect_lists(const NodeView& n, size_t states) {
  const int64_t count = n.integer("count");
  if (count < 1 || count > 1 << 20)
    return bad_operands(n, fmt::format("count={} is out of range", count));
  const size_t size = count_of(n), lists = 2 * size + states;
  if (n.inputs() != lists + 3)
    return bad_operands(n, fmt::format("takes {} inputs, {} are given", lists + 3, n.inputs()));
  HONE_TRY(expect_type(n, n.slot("lr"), kScalar));
  HONE_TRY(expect_type(n, n.slot("step"), {DType::i64, {}}));
  HONE_TRY(expect_type(n, n.slot("g_scale"), kScalar));
  const size_t decays = n.integers("decay").size();
  if (decays != 0 && decays != size)
    return bad_operands(n, fmt::format("decay has {} entries for {} tensors", decays, count));
  if (const size_t keys = rounding_keys(n).size(); keys != 0 && keys != size)
    return bad_operands(n, fmt::format("round_keys has {} entries for {} tensors", keys, count));
  for (size_t i = 0; i < size; ++i) {
    HONE_TRY(expect_float(n, i));
    HONE_TRY(expect_float(n, size + i));
    if (n.in(size + i).shape != n.in(i).shape)
      return bad_operands(n, fmt::format("gradient {} has another shape than its tensor", i));
  }
  return Ok{};
}

// Attribute rows; empty: all of every tensor.
std::vector<int64_t> updated_rows(const NodeView& n) {
  return n.node.op->attr("rows") ? n.integers("rows") : std::vector<int64_t>();
}

Result<Types> copies_of(const NodeView& n) {
  Types t;
  const std::vector<int64_t> copied = copied_tensors(n);
  if (!copied.empty() && !updated_rows(n).empty())
    return bad_operands(n, "rows of a tensor have no copy");
  for (const int64_t i : copied) {
    if (i < 0 || i >= n.integer("count"))
      return bad_operands(n, fmt::format("there is no tensor {} to be copied", i));
    t.push_back({*dtype_named(n.text("copied_as")), n.in(static_cast<size_t>(i)).shape});
  }
  return t;
}

Status expect_rows(const NodeView& n, const std::vector<int64_t>& rows) {
  if (rows.empty()) return Ok{};
  const Shape& shape = n.in(0).shape;
  if (rows.size() != 2 || count_of(n) != 1 || shape.empty() || rows[0] < 0 || rows[0] > rows[1] ||
      rows[1] > shape[0])
    return bad_operands(n, "rows are [first, end] of one tensor");
  return Ok{};
}

Status expect_halves(const NodeView& n) {
  const std::vector<int64_t> copied = copied_tensors(n);
  for (const int64_t i : halved_tensors(n)) {
    if (i < 0 || i >= n.integer("count"))
      return bad_operands(n, fmt::format("there is no tensor {} in halves", i));
    if (wide(n.in(static_cast<size_t>(i)).dtype) != n.in(static_cast<size_t>(i)).dtype)
      return bad_operands(n, fmt::format("tensor {} is in 16 bits: it has no halves", i));
    if (std::find(copied.begin(), copied.end(), i) != copied.end())
      return bad_operands(n, fmt::format("tensor {} is in halves and has a copy", i));
  }
  return Ok{};
}

int update_inplace(const NodeView& n, size_t k) {
  const size_t count = count_of(n);          // the gradients are between p and the states
  if (k >= n.slot("lr") - count) return -1;  // a copy
  return static_cast<int>(k < count ? k : k + count);
}

}  // namespace

std::vector<int64_t> copied_tensors(const NodeView& n) {
  return n.node.op->attr("copied") ? n.integers("copied") : std::vector<int64_t>();
}

std::vector<int64_t> halved_tensors(const NodeView& n) {
  return n.node.op->attr("halves") ? n.integers("halves") : std::vector<int64_t>();
}

double weight_decay_of(const NodeView& n, size_t i) {
  const std::vector<int64_t>& decayed = n.integers("decay");
  return decayed.empty() || decayed[i] != 0 ? n.real("weight_decay") : 0;
}

Result<Types> infer_update(const NodeView& n, size_t lists) {
  HONE_TRY(expect_lists(n, lists * count_of(n)));
  const std::vector<int64_t> rows = updated_rows(n);
  HONE_TRY(expect_rows(n, rows));
  HONE_TRY(expect_halves(n));
  Types t;
  const size_t count = count_of(n);
  for (size_t list = 0; list <= lists; ++list)
    for (size_t i = 0; i < count; ++i) {
      Type type = n.in(i);
      if (list > 0 && !rows.empty()) type.shape[0] = rows[1] - rows[0];
      if (list > 0) HONE_TRY(expect_type(n, (1 + list) * count + i, type));
      t.push_back(std::move(type));
    }
  for (Type& copy : HONE_TRY(copies_of(n))) t.push_back(std::move(copy));
  return t;
}

Result<Types> infer_update(const NodeView& n, Types (*states)(const NodeView&)) {
  const int64_t count = n.integer("count");
  if (count < 1 || n.inputs() < 2 * static_cast<size_t>(count))
    return bad_operands(n, fmt::format("count={} is more than there are operands", count));
  const std::vector<int64_t> rows = updated_rows(n);
  HONE_TRY(expect_rows(n, rows));
  const Types kept = states(n);
  HONE_TRY(expect_lists(n, kept.size()));
  Types t;
  const auto weights = static_cast<size_t>(count);
  for (size_t i = 0; i < weights; ++i) t.push_back(n.in(i));
  for (size_t k = 0; k < kept.size(); ++k) {
    HONE_TRY(expect_type(n, 2 * weights + k, kept[k]));
    t.push_back(kept[k]);
  }
  return t;
}

Type updated_part(const NodeView& n, size_t i) {
  Type t = n.in(i);
  if (const std::vector<int64_t> rows = updated_rows(n); !rows.empty())
    t.shape[0] = rows[1] - rows[0];
  return t;
}

Types states_8bit(const NodeView& n, size_t moments) {
  Types codes, absmax, all;
  for (size_t i = 0; i < count_of(n); ++i) {
    const Type part = updated_part(n, i);
    codes.push_back({DType::u8, part.shape});
    absmax.push_back({wide(part.dtype), {dynamic_blocks(part.count())}});
  }
  for (size_t k = 0; k < moments; ++k)
    for (const Types* list : {&codes, &absmax}) all.insert(all.end(), list->begin(), list->end());
  return all;
}

Op update_op(std::string name, std::vector<AttrSpec> attrs, decltype(Op::infer) infer,
             Decomposition::Emit decompose, decltype(Op::cost) cost) {
  attrs.insert(attrs.end(),
               {required("count", 0), AttrSpec{"decay", Shape{}}, AttrSpec{"weight_decay", 0.0}});
  return {.name = std::move(name),
          .operands = {"p...", "g...", "states...", "lr", "step", "g_scale"},
          .attrs = std::move(attrs),
          .infer = infer,
          .decompositions = {decompose},
          .cost = cost,
          .over_in_lists = update_inplace};
}

Op elementwise_update_op(std::string name, std::vector<AttrSpec> attrs, decltype(Op::infer) infer,
                         Decomposition::Emit decompose, decltype(Op::cost) cost) {
  attrs.insert(attrs.end(), {AttrSpec{"rows", Shape{}}, AttrSpec{"round_keys", Shape{}}});
  return update_op(std::move(name), std::move(attrs), infer, decompose, cost);
}

Op copied_update_op(std::string name, std::vector<AttrSpec> attrs, decltype(Op::infer) infer,
                    Decomposition::Emit decompose, decltype(Op::cost) cost) {
  attrs.insert(attrs.end(), {AttrSpec{"copied", Shape{}},
                             AttrSpec{"copied_as", std::string("bf16"), {"bf16", "f16"}},
                             AttrSpec{"halves", Shape{}}});
  return elementwise_update_op(std::move(name), std::move(attrs), infer, decompose, cost);
}

Cost update_cost(const NodeView& n, double flops_per_element) {
  Cost c = elementwise(n, 0);
  const size_t count = count_of(n);
  for (size_t i = 0; i < count; ++i)
    c.flops += flops_per_element * static_cast<double>(n.in(i).count());
  if (const std::vector<int64_t> rows = updated_rows(n); !rows.empty()) {
    const auto all = static_cast<double>(std::max<int64_t>(1, n.in(0).shape[0]));
    const double part = static_cast<double>(rows[1] - rows[0]) / all;
    c.flops *= part;
    // Subtracts the untouched parts of p, its gradient and p'.
    c.bytes -= (1 - part) * static_cast<double>(2 * n.in(0).bytes() + n.in(1).bytes());
  }
  return c;
}

UpdateParts::UpdateParts(Builder& b, const NodeView& n)
    : b_(b),
      n_(n),
      count_(count_of(n)),
      rows_(updated_rows(n)),
      halved_(halved_tensors(n)),
      keys_(rounding_keys(n)) {
  step_ = ops::cast(b, n.input("step"), DType::f64);
}

double UpdateParts::decay(size_t i) const { return weight_decay_of(n_, i); }

ValueId UpdateParts::gradient(size_t i) {
  const ValueId g = ops::cast(b_, rows_of(n_.input(count_ + i)), wide(b_.type(n_.input(i)).dtype));
  return times(g, n_.input("g_scale"));
}

ValueId UpdateParts::gradient_l2(size_t i) {
  const ValueId g = gradient(i);
  return decay(i) == 0 ? g : ops::add(b_, g, scaled(p(i), decay(i)));
}

ValueId UpdateParts::shrunk(size_t i, ValueId x) {
  if (decay(i) == 0) return x;
  const ValueId one = ops::constant(b_, 1, kScalar);
  return times(x, ops::sub(b_, one, scaled(lr(), decay(i))));
}

ValueId UpdateParts::one_minus_power(double base) {
  const ValueId one = ops::constant(b_, 1, kScalar);
  if (base == 0) return one;
  return ops::sub(b_, one, ops::exp(b_, scaled(step_, std::log(base))));
}

ValueId UpdateParts::scaled(ValueId x, double factor) {
  return ops::mul(b_, x, number(b_, factor, x));
}

ValueId UpdateParts::times(ValueId x, ValueId scalar) {
  return ops::mul(b_, x, ops::cast(b_, scalar, b_.type(x).dtype));
}

ValueId UpdateParts::mix(ValueId old, double keep, ValueId fresh, double take) {
  return ops::add(b_, scaled(old, keep), scaled(fresh, take));
}

ValueId UpdateParts::plus(ValueId x, double addend) {
  return ops::add(b_, x, number(b_, addend, x));
}

ValueId UpdateParts::adam_change(ValueId m, ValueId v, ValueId step_size, ValueId root) {
  const ValueId unbiased = ops::div(b_, ops::sqrt(b_, v), ops::cast(b_, root, b_.type(v).dtype));
  return times(ops::div(b_, m, plus(unbiased, attr("eps"))), step_size);
}

ValueId UpdateParts::sign(ValueId x) {
  const ValueId zero = number(b_, 0, x);
  const DType t = b_.type(x).dtype;
  return ops::sub(b_, ops::cast(b_, ops::compare(b_, x, zero, "gt"), t),
                  ops::cast(b_, ops::compare(b_, x, zero, "lt"), t));
}

ValueId UpdateParts::with_momentum(size_t i, ValueId g, Values& buffers) {
  const double momentum = attr("momentum");
  if (momentum == 0) return g;
  if (fresh_ == kNoValue) {  // 1 in the first step
    const ValueId one = ops::constant(b_, 1, kScalar),
                  later = ops::constant(b_, 1 - attr("dampening"), kScalar);
    fresh_ = ops::select(b_, ops::compare(b_, step_, one, "le"), one, later);
  }
  const ValueId buffer = ops::add(b_, scaled(state(0, i), momentum), times(g, fresh_));
  buffers.push_back(buffer);
  return n_.flag("nesterov") ? ops::add(b_, g, scaled(buffer, momentum)) : buffer;
}

Values UpdateParts::results(const std::vector<Values>& lists) {
  const ValueId g_scale = n_.input("g_scale");
  const ValueId zero = ops::sub(b_, g_scale, g_scale);  // NaN unless it is finite
  const ValueId broken = ops::compare(b_, zero, ops::constant(b_, 0, kScalar), "ne");
  Values all;
  for (const Values& list : lists)
    for (const ValueId wide_one : list) {
      const bool is_weight = all.size() < count_;
      const ValueId old = is_weight ? weight(all.size())
                                    : n_.input(static_cast<size_t>(update_inplace(n_, all.size())));
      const ValueId fresh = rounded_as(wide_one, all.size());
      const ValueId whole = is_weight ? with_rows(old, fresh) : fresh;
      all.push_back(ops::select(b_, broken, old, whole));  // over the old one
    }
  for (const int64_t i : copied_tensors(n_)) {
    const DType as = n_.out(all.size()).dtype;
    all.push_back(ops::cast(b_, all[static_cast<size_t>(i)], as));
  }
  for (const int64_t i : halved_) {
    ValueId& p = all[static_cast<size_t>(i)];
    p = ops::halves(b_, p, false);
  }
  return all;
}

ValueId UpdateParts::weight(size_t i) {
  const bool halved =
      std::find(halved_.begin(), halved_.end(), static_cast<int64_t>(i)) != halved_.end();
  return halved ? ops::halves(b_, n_.input(i), true) : n_.input(i);
}

ValueId UpdateParts::widened(ValueId x) { return ops::cast(b_, x, wide(b_.type(x).dtype)); }

ValueId UpdateParts::rounded_as(ValueId x, size_t result) {
  const Type& kept = n_.out(result);
  if (result >= count_ || keys_.empty() || kept.dtype != DType::bf16)
    return ops::cast(b_, x, kept.dtype);
  const int64_t row = rows_.empty() ? 0 : kept.count() / std::max<int64_t>(1, kept.shape[0]);
  return ops::round_stochastic(b_, x, n_.input("step"), keys_[result],
                               rows_.empty() ? 0 : rows_[0] * row);
}

ValueId UpdateParts::rows_of(ValueId tensor) {
  return rows_.empty() ? tensor : ops::slice(b_, tensor, 0, rows_[0], rows_[1]);
}

ValueId UpdateParts::with_rows(ValueId tensor, ValueId x) {
  if (rows_.empty()) return x;
  const ValueId before = ops::slice(b_, tensor, 0, 0, rows_[0]),
                after = ops::slice(b_, tensor, 0, rows_[1], b_.type(tensor).shape[0]);
  return ops::concat(b_, {before, x, after}, 0);
}

Values ops::update(Builder& b, const std::string& rule, const UpdateLists& lists, Attrs attrs) {
  Values in;
  for (const Values* list : {&lists.p, &lists.g, &lists.states})
    in.insert(in.end(), list->begin(), list->end());
  in.insert(in.end(), {lists.lr, lists.step, lists.g_scale});
  attrs.set("count", static_cast<int64_t>(lists.p.size()));
  attrs.set("decay", lists.decay);
  if (!lists.rows.empty()) attrs.set("rows", lists.rows);
  if (!lists.keys.empty()) attrs.set("keys", lists.keys);
  if (!lists.round_keys.empty()) attrs.set("round_keys", lists.round_keys);
  return b.emit(rule, in, attrs);
}

}  // namespace hone
