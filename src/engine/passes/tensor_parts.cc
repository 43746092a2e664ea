#include "engine/passes/tensor_parts.h"

#include <algorithm>
#include <utility>

#include "engine/passes/errors.h"
#include "engine/passes/vocabulary_split.h"

namespace hone {

std::optional<Shape> part_shape(Shape shape, const Slab& s) {
  int64_t inner = 1;
  for (size_t i = shape.size(); i-- > 0; inner *= shape[i]) {
    if (inner * shape[i] % s.period != 0) continue;
    const bool fits = std::all_of(s.ranges.begin(), s.ranges.end(), [&](const RowRange& r) {
      return r.begin % inner == 0 && r.end % inner == 0;
    });
    if (!fits) return {};
    shape[i] = shape[i] * s.count() / s.period;
    return shape;
  }
  return {};
}

bool is_one_of(const Node& n, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), n.op->name) != names.end();
}
bool is_elementwise(const Node& n) {
  return n.op->activation || n.op->sum ||
         is_one_of(n, {"sub", "mul", "div", "maximum", "minimum", "neg", "exp", "log", "tanh",
                       "erf", "sqrt", "select", "cast", "gate", "dropout"});
}
bool is_attention(const Node& n) { return n.op->attr("first_head") != nullptr; }
bool is_linear_layer(const Node& n) { return n.op->product && n.op->takes("bias"); }

bool is_slice_of_heads(const Program& p, const Node& n) {
  return n.op->name == "slice" && n.attrs.integer("axis") == 2 && p.type(n.out[0]).rank() == 3;
}

Error undivided(const Node& n, std::string what) {
  return Error(err::kUndivided, std::move(what))
      .at(n.scope)
      .todo(
          "choose a size of the axis 'tensor' that divides the heads and the widths of the "
          "layers, or use ZeRO stage 3 instead");
}

namespace {

// Whether a part of the first operand gives the same part of the result.
bool keeps_parts(const Node& n) { return is_one_of(n, {"reshape", "rope", "gather_rows"}); }
bool is_norm(const Node& n) { return is_one_of(n, {"rms_norm", "layer_norm"}); }
bool is_disentangled(const Node& n) { return n.op->attr("kv_heads") == nullptr; }
int64_t key_heads(const Node& n) {
  return n.attrs.integer(is_disentangled(n) ? "heads" : "kv_heads");
}

}  // namespace

RowRange TensorParts::own(int64_t count, int64_t each, int64_t begin) const {
  const RowRange r = share_rows(count, share);
  return {begin + r.begin * each, begin + r.end * each};
}

std::optional<Slab> TensorParts::slab_of_operand(const Node& n, size_t k) const {
  const ValueId v = n.in[k];
  if (slab(v)) return slab(v);
  const NodeView view{p, n};
  if (is_attention(n)) {
    const int64_t heads = view.integer("heads"), keys = key_heads(n);
    if (is_disentangled(n)) {
      if (p.type(v).rank() != 2 || !is_float(p.type(v).dtype)) return {};
      const int64_t size = p.type(v).shape[1] / heads;  // of a token or of a distance
      return Slab{heads * size, {own(heads, size)}};
    }
    if (k == 0) return queries_of(n);
    if (k == view.slot("k") || k == view.slot("v")) {
      const int64_t size = p.type(v).shape[1] / keys;
      return Slab{keys * size, {own(keys, size)}};
    }
    const bool of_heads = !p.type(v).shape.empty() && is_float(p.type(v).dtype);
    if (!of_heads) return {};
    const int64_t each = p.type(v).count() / heads;
    return Slab{heads * each, {own(heads, each)}};
  }
  if (is_elementwise(n) && p.type(v).shape == p.type(n.out[0]).shape) return slab(n.out[0]);
  return {};
}

Slab TensorParts::queries_of(const Node& n) const {
  const NodeView view{p, n};
  const int64_t heads = view.integer("heads"), keys = key_heads(n);
  const bool fused = !view.has("k");
  const int64_t size = p.type(n.in[0]).shape[1] / (fused ? heads + 2 * keys : heads);
  if (!fused) return {heads * size, {own(heads, size)}};
  return {
      (heads + 2 * keys) * size,
      {own(heads, size), own(keys, size, heads * size), own(keys, size, (heads + keys) * size)}};
}

namespace {

class PartsFinder {
 public:
  PartsFinder(Program& program, const Share& share, const std::map<std::string, AxisParts>* asked)
      : p(program), t_{program, share}, asked_(asked), readers_(program.values.size()) {
    p.renumber_producers();
    t_.slabs.resize(p.values.size());
    t_.parameter.assign(p.values.size(), -1);
    for (size_t i = 0; i < p.states.size(); ++i)
      if (p.states[i].role == Role::param)
        t_.parameter[slot_at(p.states[i].value)] = static_cast<int32_t>(i);
    for (size_t i = 0; i < p.nodes.size(); ++i)
      for (const ValueId v : p.nodes[i].in)
        if (v != kNoValue && (readers_[slot_at(v)].empty() || readers_[slot_at(v)].back() != i))
          readers_[slot_at(v)].push_back(i);
  }

  // Decides the parts of all values.
  Status find() {
    // A layer may be found by a later node than the first one that reads its values.
    for (int64_t known = -1, now = 0; known != now; known = std::exchange(now, values_in_parts()))
      HONE_TRY(find_once());
    for (auto& [whole, slices] : sliced_) divide_sliced(whole, slices);
    for (const ValueId v : vocabulary_weights(p, ranks()))
      if (may_divide(v)) give(*parameter_of(v), {0, words_of(v), {t_.own(words_of(v))}});
    return Ok{};
  }
  TensorParts take() { return std::move(t_); }

 private:
  const std::optional<Slab>& slab(ValueId v) const { return t_.slab(v); }
  const State* parameter_of(ValueId v) const { return t_.parameter_of(v); }
  const Node* maker(ValueId v) const {
    const int32_t node = p.values[slot_at(v)].node;
    return node < 0 ? nullptr : &p.nodes[static_cast<size_t>(node)];
  }
  int64_t ranks() const { return t_.share.ranks; }
  int64_t words_of(ValueId v) const { return p.type(v).shape[0]; }

  int64_t values_in_parts() const {
    return std::count_if(t_.slabs.begin(), t_.slabs.end(),
                         [](const auto& s) { return s.has_value(); });
  }
  Status find_once() {
    for (const Node& n : p.nodes) {
      if (is_attention(n))
        HONE_TRY(divide_heads(n));
      else if (is_linear_layer(n) && !slab(n.in[0]))
        HONE_TRY(divide_feed_forward(n));
      if (is_linear_layer(n) && slab(n.in[0]))
        HONE_TRY(take_rows(n));
      else
        pass_on(n);
    }
    return Ok{};
  }

  Status divide_heads(const Node& n) {
    const NodeView view{p, n};
    const int64_t heads = view.integer("heads"), keys = key_heads(n);
    if (heads % ranks() != 0)
      return undivided(n, fmt::format("{} heads are not divided among {} ranks", heads, ranks()));
    if (keys % ranks() != 0)
      return undivided(
          n, fmt::format("{} key/value heads are not divided among {} ranks", keys, ranks()));
    if (!is_disentangled(n) && view.has("block_table"))
      return undivided(n, "a cache of keys is not divided among ranks");
    for (size_t k = 0; k < n.in.size(); ++k)
      if (n.in[k] != kNoValue)
        if (const std::optional<Slab> s = t_.slab_of_operand(n, k)) demand(n.in[k], *s);
    const int64_t size = p.type(n.out[0]).shape[1] / heads, tokens = p.type(n.out[0]).shape[0];
    t_.slabs[slot_at(n.out[0])] = Slab{heads * size, {t_.own(heads, size)}};
    t_.slabs[slot_at(n.out[1])] = Slab{heads * tokens, {t_.own(heads, tokens)}};
    return Ok{};
  }

  // A product of activations, each of products.
  Status divide_feed_forward(const Node& n) {
    bool acted = false;
    if (is_plain(n) && may_divide(n.in[1]) && comes_from_products(n.in[0], acted) && acted) {
      const int64_t width = p.type(n.in[0]).shape[1];
      if (width % ranks() != 0)
        return undivided(
            n, fmt::format("a layer of width {} is not divided among {} ranks", width, ranks()));
      demand(n.in[0], {width, {t_.own(width)}});
    }
    return Ok{};
  }
  bool comes_from_products(ValueId v, bool& acted) const {
    const Node* n = maker(v);
    if (n == nullptr || p.type(v).rank() != 2) return false;
    if (is_linear_layer(*n)) return can_have_columns(*n);
    if (n->op->name == "slice") {
      const Node* from = maker(n->in[0]);
      return n->attrs.integer("axis") == 1 && from != nullptr && is_linear_layer(*from) &&
             can_have_columns(*from);
    }
    if (!is_elementwise(*n)) return false;
    acted = acted || n->op->activation || is_one_of(*n, {"gate", "tanh", "erf", "exp"});
    bool any = false;
    for (const ValueId operand : n->in) {
      if (operand == kNoValue || p.type(operand) != p.type(v)) continue;
      if (readers_[slot_at(operand)].size() == 1 && comes_from_products(operand, acted)) any = true;
    }
    return any;
  }

  bool may_divide(ValueId v) const {
    const State* s = parameter_of(v);
    return s != nullptr && (asked_ == nullptr || asked_->contains(s->name));
  }
  // Whether the node has nothing that only fusion adds, and no scales.
  static bool is_plain(const Node& n) {
    for (size_t k = 3; k < n.in.size(); ++k)
      if (n.in[k] != kNoValue) return false;
    return n.attrs.text("act", "none") == "none" && n.attrs.text("scheme").empty();
  }
  bool can_have_columns(const Node& n) const {
    if (!is_plain(n) || slab(n.in[0]) || !may_divide(n.in[1])) return false;
    const bool has_bias = n.in.size() > 2 && n.in[2] != kNoValue;
    return !has_bias || may_divide(n.in[2]);
  }

  bool give(const State& s, const AxisParts& part) {
    return t_.weights.emplace(s.name, part).first->second == part;
  }
  bool has_other(const State& s, const AxisParts& part) const {
    const auto known = t_.weights.find(s.name);
    return known != t_.weights.end() && known->second != part;
  }

  // Whether the value is made in parts from here on; else its reader slices it.
  bool demand(ValueId v, const Slab& s) {
    if (slab(v)) return *slab(v) == s;
    const Node* n = maker(v);
    if (n == nullptr || !part_shape(p.type(v).shape, s)) return false;
    bool in_parts = false;
    if (is_linear_layer(*n)) {
      in_parts = take_columns(*n, s);
    } else if (is_elementwise(*n)) {
      for (const ValueId operand : n->in)
        if (operand != kNoValue && p.type(operand).shape == p.type(v).shape)
          in_parts = demand(operand, s) || in_parts;
    } else if ((keeps_parts(*n) && fits_gather(*n, s)) || (is_norm(*n) && fits_rows(n->in[0], s))) {
      in_parts = v == n->out[0] && demand(n->in[0], s);
    } else if (n->op->name == "slice" && n->attrs.integer("axis") == 1 && p.type(v).rank() == 2 &&
               s.period == p.type(v).shape[1]) {
      sliced_[n->in[0]].push_back(v);
      in_parts = true;
    } else if (is_slice_of_heads(p, *n) && fits_rows(v, s)) {
      const int64_t size = p.type(v).shape[2], all = p.type(n->in[0]).shape[2];
      Slab of_heads{s.period / size * all, s.ranges};
      for (RowRange& r : of_heads.ranges) r = {r.begin / size * all, r.end / size * all};
      in_parts = demand(n->in[0], of_heads);
    } else if (n->op->name == "broadcast") {
      in_parts = take_broadcast(*n, s);
    }
    if (in_parts) t_.slabs[slot_at(v)] = s;
    return in_parts;
  }
  // Whether rows that are gathered repeat the part.
  bool fits_gather(const Node& n, const Slab& s) const {
    const Type& x = p.type(n.in[0]);
    return n.op->name != "gather_rows" || (x.rank() == 2 && x.shape[1] % s.period == 0);
  }
  // Whether a part has whole rows of the last axis.
  bool fits_rows(ValueId v, const Slab& s) const {
    const int64_t row = p.type(v).shape.back();
    return s.period % row == 0 && std::all_of(s.ranges.begin(), s.ranges.end(), [&](RowRange r) {
             return r.begin % row == 0 && r.end % row == 0;
           });
  }

  // A vector beside each row, which nothing else reads.
  bool take_broadcast(const Node& n, const Slab& s) {
    const State* vector = parameter_of(n.in[0]);
    const Type& type = p.type(n.in[0]);
    if (vector == nullptr || !may_divide(n.in[0]) || type.shape != Shape{s.period} ||
        n.attrs.integers("axes") != std::vector<int64_t>{1} || p.type(n.out[0]).rank() != 2 ||
        readers_[slot_at(n.in[0])].size() != 1)
      return false;
    const AxisParts part{0, s.period, s.ranges};
    return !has_other(*vector, part) && give(*vector, part);
  }

  bool take_columns(const Node& n, const Slab& s) {
    if (!can_have_columns(n) || p.type(n.out[0]).shape[1] != s.period) return false;
    const AxisParts columns{n.attrs.flag("trans_w") ? 0 : 1, s.period, s.ranges},
        of_bias{0, s.period, s.ranges};
    const State& w = *parameter_of(n.in[1]);
    const State* bias = n.in.size() > 2 && n.in[2] != kNoValue ? parameter_of(n.in[2]) : nullptr;
    if (has_other(w, columns) || (bias && has_other(*bias, of_bias))) return false;
    return give(w, columns) && (bias == nullptr || give(*bias, of_bias));
  }
  Status take_rows(const Node& n) {
    const State* w = parameter_of(n.in[1]);
    const Slab& s = *slab(n.in[0]);
    const AxisParts rows{n.attrs.flag("trans_w") ? 1 : 0, s.period, s.ranges};
    if (!is_plain(n) || w == nullptr)
      return undivided(n, "a product with a weight in few bits is not divided among ranks");
    if (p.type(n.in[0]).shape[1] != s.period || !give(*w, rows))
      return undivided(n, fmt::format("'{}' is divided in two ways", w->name));
    return Ok{};
  }
  void pass_on(const Node& n) {
    if (!is_elementwise(n) && !keeps_parts(n)) return;
    if (slab(n.out[0])) return;
    for (const ValueId v : n.in) {
      if (v == kNoValue || !slab(v)) continue;
      const Slab s = *slab(v);
      if (!fits_gather(n, s)) return;
      t_.slabs[slot_at(n.out[0])] = s;
      for (const ValueId other : n.in)
        if (is_elementwise(n) && other != kNoValue && !slab(other) &&
            p.type(other).shape == p.type(v).shape)
          demand(other, s);
      return;
    }
  }
  // One projection whose columns are read in slices.
  void divide_sliced(ValueId whole, std::vector<ValueId>& slices) {
    const Node* n = maker(whole);
    if (n == nullptr || !is_linear_layer(*n) || slices.size() != readers_[slot_at(whole)].size())
      return;
    std::sort(slices.begin(), slices.end(), [&](ValueId x, ValueId y) {
      return maker(x)->attrs.integer("begin") < maker(y)->attrs.integer("begin");
    });
    Slab all{p.type(whole).shape[1], {}};
    int64_t end = 0;
    for (const ValueId v : slices) {
      const Attrs& a = maker(v)->attrs;
      if (a.integer("begin") != end) return;
      end = a.integer("end");
      for (const RowRange& r : slab(v)->ranges)
        all.ranges.push_back({a.integer("begin") + r.begin, a.integer("begin") + r.end});
    }
    if (end == all.period && take_columns(*n, all)) t_.slabs[slot_at(whole)] = all;
  }

  Program& p;
  TensorParts t_;
  const std::map<std::string, AxisParts>* const asked_;
  std::vector<std::vector<size_t>> readers_;        // by value: nodes
  std::map<ValueId, std::vector<ValueId>> sliced_;  // slices in parts, by what they slice
};

}  // namespace

Result<TensorParts> find_tensor_parts(Program& program, const Share& share,
                                      const std::map<std::string, AxisParts>* asked) {
  PartsFinder finder(program, share, asked);
  HONE_TRY(finder.find());
  return finder.take();
}

}  // namespace hone
