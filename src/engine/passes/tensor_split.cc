#include "engine/passes/tensor_split.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/ops/collective_parts.h"
#include "engine/ops/ops.h"
#include "engine/passes/errors.h"
#include "engine/passes/simplify.h"
#include "engine/passes/tensor_parts.h"
#include "engine/passes/vocabulary_split.h"

namespace hone {
namespace {

constexpr const char* kOtherWay = "leave the axis 'tensor' out, or use ZeRO stage 3 instead";

// The program of one rank.
class TensorRewriter {
 public:
  TensorRewriter(Program& program, const TensorParts& parts, int64_t first)
      : p(program), t_(parts), first_(first), uses_(count_uses(program)) {}

  Status rewrite() {
    find_trained();
    for (State& s : p.states)
      if (const auto part = t_.weights.find(s.name); part != t_.weights.end())
        p.values[slot_at(s.value)].type = part->second.part(p.type(s.value));
    std::vector<Node> nodes = std::exchange(p.nodes, {});
    Builder b(p);
    b_ = &b;
    here_.assign(t_.slabs.size(), kNoValue);
    summed_.assign(t_.slabs.size(), kNoValue);
    whole_.resize(t_.slabs.size());
    for (size_t v = 0; v < whole_.size(); ++v) whole_[v] = static_cast<ValueId>(v);
    for (Node& n : nodes) {
      b.set_scope(n.scope);
      b.set_phase(n.phase);
      HONE_TRY(emit(n));
    }
    for (Named& o : p.outputs) o.value = HONE_TRY(whole(o.value, "an output"));
    for (State& s : p.states)
      if (s.next != kNoValue) s.next = HONE_TRY(whole(s.next, "a state"));
    p.renumber_producers();
    p.compact();
    return Ok{};
  }

 private:
  const std::optional<Slab>& slab(ValueId v) const { return t_.slab(v); }

  void find_trained() {
    trained_.assign(p.values.size(), false);
    for (const State& s : p.states)
      if (s.trainable) trained_[slot_at(s.value)] = true;
    for (const Node& n : p.nodes)
      for (const ValueId v : n.in)
        if (v != kNoValue && trained_[slot_at(v)])
          for (const ValueId made : n.out)
            trained_[slot_at(made)] = trained_[slot_at(made)] || is_float(p.type(made).dtype);
  }

  Result<ValueId> whole(ValueId v, std::string_view reader) const {
    if (v == kNoValue) return v;
    const State* s = t_.parameter_of(v);
    if (slab(v) || (s && t_.weights.contains(s->name)))
      return Error(err::kUndivided,
                   fmt::format("{} reads all of {}, which is divided among ranks", reader,
                               s ? fmt::format("'{}'", s->name) : "a value"))
          .at(b_->scope())
          .todo(kOtherWay);
    return whole_[slot_at(v)];
  }

  // The members are named, unlike those of the other axis.
  Attrs axis() const {
    Attrs attrs;
    set_split(attrs, {t_.share});
    attrs.set("first", first_);
    attrs.set("stride", int64_t{1});
    return attrs;
  }

  // A whole value that parts are computed from: each rank has a part of its gradient.
  Result<ValueId> read_by_parts(ValueId v) {
    const ValueId x = HONE_TRY(whole(v, "an operation"));
    if (x == kNoValue || !trained_[slot_at(v)]) return x;
    ValueId& summed = summed_[slot_at(v)];
    if (summed == kNoValue) summed = b_->emit1("sum_gradient", {x}, axis());
    return summed;
  }
  // The part of a value on this rank.
  Result<ValueId> part(ValueId v, const Slab& s) {
    if (slab(v) && here_[slot_at(v)] != kNoValue) {
      if (*slab(v) != s)
        return Error(err::kUndivided, "two operations divide a value in different ways")
            .at(b_->scope())
            .todo(kOtherWay);
      return here_[slot_at(v)];
    }
    return cut(HONE_TRY(read_by_parts(v)), s);
  }
  ValueId cut(ValueId x, const Slab& s) {
    const Shape shape = b_->type(x).shape;
    const int64_t rows = b_->type(x).count() / s.period;
    const ValueId flat = ops::reshape(*b_, x, {rows, s.period});
    Values parts;
    for (const RowRange& r : s.ranges) parts.push_back(ops::slice(*b_, flat, 1, r.begin, r.end));
    const ValueId joined = parts.size() == 1 ? parts[0] : ops::concat(*b_, parts, 1);
    return ops::reshape(*b_, joined, *part_shape(shape, s));
  }

  Status emit(Node& n) {
    if (n.op->name == "embedding" && t_.has_part(n.in[0])) return emit_lookup(n);
    if (n.op->name == "linear_cross_entropy" && t_.has_part(n.in[1])) return emit_head(n);
    const bool reads_parts =
        std::any_of(n.in.begin(), n.in.end(), [&](ValueId v) { return v != kNoValue && slab(v); });
    const bool makes_parts = slab(n.out[0]).has_value();
    if (is_linear_layer(n) && reads_parts) return emit_rows(n);
    if (is_linear_layer(n) && makes_parts) return emit_columns(n);
    if (!makes_parts) {
      for (ValueId& v : n.in) v = HONE_TRY(whole(v, n.op->name));
      p.nodes.push_back(std::move(n));
      return Ok{};
    }
    if (n.op->name == "slice" && !is_slice_of_heads(p, n)) return emit_slice(n);
    return emit_part(n);
  }

  VocabularyPart vocabulary_part(ValueId weight) const {
    const AxisParts& part = t_.weights.at(t_.parameter_of(weight)->name);
    return {t_.share, part.ranges[0], part.size, axis()};
  }
  Status emit_lookup(const Node& n) {
    const ValueId ids = HONE_TRY(whole(n.in[1], n.op->name));
    whole_[slot_at(n.out[0])] = emit_lookup_of_part(*b_, n, n.in[0], ids, vocabulary_part(n.in[0]));
    return Ok{};
  }
  Status emit_head(const Node& n) {
    const NodeView view{p, n};
    const auto operand = [&](const char* name) -> Result<ValueId> {
      return view.has(name) ? whole(view.input(name), n.op->name) : Result<ValueId>(kNoValue);
    };
    HeadOperands in{.x = HONE_TRY(read_by_parts(view.input("x"))), .w = view.input("w")};
    in.labels = HONE_TRY(operand("labels"));
    in.scale = HONE_TRY(operand("scale"));
    in.weights = HONE_TRY(operand("weights"));
    if (view.has("bias")) in.bias = view.input("bias");
    const HeadLosses made =
        emit_head_of_part(*b_, n, in, vocabulary_part(in.w), uses_[slot_at(n.out[2])] > 0);
    whole_[slot_at(n.out[0])] = made.loss;
    whole_[slot_at(n.out[1])] = made.nll;
    whole_[slot_at(n.out[2])] = made.correct;
    return Ok{};
  }

  Status emit_columns(const Node& n) {
    const ValueId x = HONE_TRY(read_by_parts(n.in[0]));
    here_[slot_at(n.out[0])] =
        b_->emit1(n.op->name, {x, n.in[1], n.in.size() > 2 ? n.in[2] : kNoValue}, n.attrs);
    return Ok{};
  }

  Status emit_rows(const Node& n) {
    const ValueId x = HONE_TRY(part(n.in[0], *slab(n.in[0])));
    const ValueId product = b_->emit1(n.op->name, {x, n.in[1]}, n.attrs);
    ValueId sum = ops::wait(*b_, b_->emit1("all_reduce", {product}, axis()));
    if (n.in.size() > 2 && n.in[2] != kNoValue) {
      const ValueId bias = HONE_TRY(whole(n.in[2], n.op->name));
      sum = ops::add(*b_, sum, ops::broadcast(*b_, bias, b_->type(sum).shape, {1}));
    }
    whole_[slot_at(n.out[0])] = sum;
    return Ok{};
  }

  // A slice of columns of which some are here.
  Status emit_slice(const Node& n) {
    const Slab& s = *slab(n.out[0]);
    const int64_t begin = n.attrs.integer("begin"), end = n.attrs.integer("end");
    ValueId& made = here_[slot_at(n.out[0])];
    if (!slab(n.in[0])) {
      made = cut(ops::slice(*b_, HONE_TRY(read_by_parts(n.in[0])), 1, begin, end), s);
      return Ok{};
    }
    int64_t before = 0;
    for (const RowRange& r : slab(n.in[0])->ranges)
      if (r.end <= begin) before += r.count();
    made = ops::slice(*b_, here_[slot_at(n.in[0])], 1, before, before + s.count());
    return Ok{};
  }

  Status emit_part(const Node& n) {
    const Slab s = *slab(n.out[0]);
    if (n.op->name == "dropout") return emit_dropout(n, s);
    Values in;
    for (size_t k = 0; k < n.in.size(); ++k) {
      const ValueId v = n.in[k];
      if (v == kNoValue)
        in.push_back(v);
      else if (n.op->name == "broadcast" && t_.has_part(v))
        in.push_back(v);
      else if (const std::optional<Slab> of = t_.slab_of_operand(n, k))
        in.push_back(HONE_TRY(part(v, *of)));
      else
        in.push_back(HONE_TRY(read_by_parts(v)));
    }
    Attrs attrs = n.attrs;
    if (attrs.has("shape")) {
      const std::optional<Shape> local = part_shape(p.type(n.out[0]).shape, s);
      if (!local) return undivided(n, fmt::format("{} takes heads apart", n.op->name));
      attrs.set("shape", *local);
    }
    for (const char* heads : {"heads", "kv_heads"})
      if (attrs.has(heads)) attrs.set(heads, divided_heads(n, attrs.integer(heads)));
    if (is_attention(n)) {
      const int64_t before = share_rows(n.attrs.integer("heads"), t_.share).begin;
      if (before > 0) attrs.set("first_head", before);
    }
    const Values made = b_->emit(n.op->name, in, attrs);
    for (size_t k = 0; k < made.size(); ++k) here_[slot_at(n.out[k])] = made[k];
    return Ok{};
  }
  int64_t divided_heads(const Node& n, int64_t heads) const {
    if (is_attention(n)) return heads / t_.share.ranks;
    const Slab& s = *slab(n.out[0]);
    return heads * s.count() / s.period;
  }

  // The mask of one rank, of which this part is kept.
  Status emit_dropout(const Node& n, const Slab& s) {
    const NodeView view{p, n};
    const double rate = view.real("p");
    const ValueId x = HONE_TRY(part(n.in[0], s));
    const ValueId mask = ops::dropout_mask(*b_, HONE_TRY(whole(view.input("rng"), "dropout")),
                                           HONE_TRY(whole(view.input("sample_ids"), "dropout")),
                                           HONE_TRY(whole(view.input("positions"), "dropout")),
                                           rate, p.type(n.out[0]).shape[1], view.text("key"));
    const ValueId zero = ops::constant(*b_, 0, {b_->type(x).dtype, {}}),
                  kept = ops::constant(*b_, 1 / (1 - rate), {b_->type(x).dtype, {}});
    ValueId y = ops::select(*b_, cut(mask, s), ops::mul(*b_, x, kept), zero);
    if (view.has("residual")) y = ops::add(*b_, y, HONE_TRY(part(view.input("residual"), s)));
    here_[slot_at(n.out[0])] = y;
    return Ok{};
  }

  Program& p;
  const TensorParts& t_;
  const int64_t first_;
  const std::vector<int32_t> uses_;  // by value
  Builder* b_ = nullptr;
  std::vector<bool> trained_;  // by value: has a gradient
  Values here_;                // by value: the part
  Values whole_;               // by value: itself, or what is made instead
  Values summed_;              // by value: its sum_gradient
};

}  // namespace

Result<TensorSplit> find_tensor_split(const Program& forward, const Share& share, int64_t first) {
  Program program = forward;
  TensorParts parts = HONE_TRY(find_tensor_parts(program, share, nullptr));
  if (parts.weights.empty())
    return Error(err::kUndivided, "no product of the model can be divided among ranks")
        .todo(kOtherWay);
  return TensorSplit{share, first, std::move(parts.weights)};
}

Result<bool> tensor_split(Program& p, const TensorSplit& how) {
  if (!how.any()) return false;
  const TensorParts parts = HONE_TRY(find_tensor_parts(p, how.share, &how.weights));
  // A program with other parts of a weight would read another tensor.
  for (const State& s : p.states) {
    const auto known = how.weights.find(s.name);
    const auto found = parts.weights.find(s.name);
    const bool has = known != how.weights.end(), finds = found != parts.weights.end();
    if (has != finds || (has && known->second != found->second))
      return Error(err::kUndivided,
                   fmt::format("program {} divides '{}' in another way than the first one", p.name,
                               s.name))
          .todo(kOtherWay);
  }
  if (parts.weights.empty()) return false;
  HONE_TRY(TensorRewriter(p, parts, how.first).rewrite());
  return true;
}

Result<bool> drop_sum_gradients(Program& p) {
  std::map<ValueId, ValueId> operand;
  const auto shown = [&](ValueId v) {
    const auto known = operand.find(v);
    return known == operand.end() ? v : known->second;
  };
  std::vector<Node> nodes = std::exchange(p.nodes, {});
  for (Node& n : nodes) {
    for (ValueId& v : n.in) v = shown(v);
    if (n.op->name == "sum_gradient")
      operand[n.out[0]] = n.in[0];
    else
      p.nodes.push_back(std::move(n));
  }
  for (Named& o : p.outputs) o.value = shown(o.value);
  for (State& s : p.states) s.next = shown(s.next);
  p.renumber_producers();
  return !operand.empty();
}

}  // namespace hone
