#include "engine/passes/tensor_split.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/ops/collective_parts.h"
#include "engine/ops/ops.h"
#include "engine/passes/errors.h"
#include "engine/passes/vocabulary_split.h"

namespace hone {
namespace {

size_t slot_at(ValueId v) { return static_cast<size_t>(v); }

// The elements of a value on this rank: those in `ranges` of each `period` elements, one after another. A reshape
// keeps it.
struct Slab {
  int64_t period = 1;
  std::vector<RowRange> ranges;
  int64_t count() const { return AxisParts{0, period, ranges}.count(); }
  bool operator==(const Slab&) const = default;
};

// The shape of the part, or nullopt: it is not a box.
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
// Element i of the result is a function of the elements i of the operands of its shape.
bool is_elementwise(const Node& n) {
  return n.op->activation || n.op->sum ||
         is_one_of(n, {"sub", "mul", "div", "maximum", "minimum", "neg", "exp", "log", "tanh",
                       "erf", "sqrt", "select", "cast", "gate", "dropout"});
}
// Whether a part of the first operand gives the same part of the result.
bool keeps_parts(const Node& n) { return is_one_of(n, {"reshape", "rope", "gather_rows"}); }
bool is_norm(const Node& n) { return is_one_of(n, {"rms_norm", "layer_norm"}); }
bool is_attention(const Node& n) { return n.op->attr("first_head") != nullptr; }
bool is_disentangled(const Node& n) { return n.op->attr("kv_heads") == nullptr; }
int64_t key_heads(const Node& n) {
  return n.attrs.integer(is_disentangled(n) ? "heads" : "kv_heads");
}
bool is_linear_layer(const Node& n) { return n.op->product && n.op->takes("bias"); }

class TensorSplitter {
 public:
  // `asked`: the only weights with parts; null: any.
  TensorSplitter(Program& program, const Share& share, int64_t first,
                 const std::map<std::string, AxisParts>* asked = nullptr)
      : p(program),
        share_(share),
        first_(first),
        asked_(asked),
        slabs_(program.values.size()),
        parameter_(program.values.size(), -1),
        readers_(program.values.size()) {
    p.renumber_producers();
    for (size_t i = 0; i < p.states.size(); ++i)
      if (p.states[i].role == Role::param)
        parameter_[slot_at(p.states[i].value)] = static_cast<int32_t>(i);
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
    for (const ValueId v : vocabulary_weights(p, share_.ranks))
      if (may_divide(v)) give(*parameter_of(v), {0, words_of(v), {own(words_of(v))}});
    return Ok{};
  }
  const std::map<std::string, AxisParts>& weights() const { return weights_; }

  Status rewrite() {
    find_trained();
    for (State& s : p.states)
      if (const auto part = weights_.find(s.name); part != weights_.end())
        p.values[slot_at(s.value)].type = part->second.part(p.type(s.value));
    std::vector<Node> nodes = std::exchange(p.nodes, {});
    Builder b(p);
    b_ = &b;
    here_.assign(slabs_.size(), kNoValue);
    summed_.assign(slabs_.size(), kNoValue);
    whole_.resize(slabs_.size());
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
  const std::optional<Slab>& slab(ValueId v) const { return slabs_[slot_at(v)]; }
  const Node* maker(ValueId v) const {
    const int32_t node = p.values[slot_at(v)].node;
    return node < 0 ? nullptr : &p.nodes[static_cast<size_t>(node)];
  }
  Error refused(const Node& n, std::string what) const {
    return Error(err::kUndivided, std::move(what))
        .at(n.scope)
        .todo(
            "choose a size of the axis 'tensor' that divides the heads and the widths of the "
            "layers, or use ZeRO stage 3 instead");
  }

  // This rank's part of `count` things of `each` elements.
  RowRange own(int64_t count, int64_t each = 1, int64_t begin = 0) const {
    const RowRange r = share_rows(count, share_);
    return {begin + r.begin * each, begin + r.end * each};
  }

  int64_t words_of(ValueId v) const { return p.type(v).shape[0]; }

  // ---- decisions

  int64_t values_in_parts() const {
    return std::count_if(slabs_.begin(), slabs_.end(), [](const auto& s) { return s.has_value(); });
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
    if (heads % share_.ranks != 0)
      return refused(n,
                     fmt::format("{} heads are not divided among {} ranks", heads, share_.ranks));
    if (keys % share_.ranks != 0)
      return refused(
          n, fmt::format("{} key/value heads are not divided among {} ranks", keys, share_.ranks));
    if (!is_disentangled(n) && view.has("block_table"))
      return refused(n, "a cache of keys is not divided among ranks");
    for (size_t k = 0; k < n.in.size(); ++k)
      if (n.in[k] != kNoValue)
        if (const std::optional<Slab> s = slab_of_operand(n, k)) demand(n.in[k], *s);
    const int64_t size = p.type(n.out[0]).shape[1] / heads, tokens = p.type(n.out[0]).shape[0];
    slabs_[slot_at(n.out[0])] = Slab{heads * size, {own(heads, size)}};
    slabs_[slot_at(n.out[1])] = Slab{heads * tokens, {own(heads, tokens)}};
    return Ok{};
  }

  // A product of activations, each of products.
  Status divide_feed_forward(const Node& n) {
    bool acted = false;
    if (is_plain(n) && may_divide(n.in[1]) && comes_from_products(n.in[0], acted) && acted) {
      const int64_t width = p.type(n.in[0]).shape[1];
      if (width % share_.ranks != 0)
        return refused(n, fmt::format("a layer of width {} is not divided among {} ranks", width,
                                      share_.ranks));
      demand(n.in[0], {width, {own(width)}});
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

  const State* parameter_of(ValueId v) const {
    const int32_t state = parameter_[slot_at(v)];
    return state < 0 ? nullptr : &p.states[static_cast<size_t>(state)];
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
    return weights_.emplace(s.name, part).first->second == part;
  }
  bool has_other(const State& s, const AxisParts& part) const {
    const auto known = weights_.find(s.name);
    return known != weights_.end() && known->second != part;
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
    } else if (is_slice_of_heads(*n) && fits_rows(v, s)) {
      const int64_t size = p.type(v).shape[2], all = p.type(n->in[0]).shape[2];
      Slab of_heads{s.period / size * all, s.ranges};
      for (RowRange& r : of_heads.ranges) r = {r.begin / size * all, r.end / size * all};
      in_parts = demand(n->in[0], of_heads);
    } else if (n->op->name == "broadcast") {
      in_parts = take_broadcast(*n, s);
    }
    if (in_parts) slabs_[slot_at(v)] = s;
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

  // Some columns of each head.
  bool is_slice_of_heads(const Node& n) const {
    return n.op->name == "slice" && n.attrs.integer("axis") == 2 && p.type(n.out[0]).rank() == 3;
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
      return refused(n, "a product with a weight in few bits is not divided among ranks");
    if (p.type(n.in[0]).shape[1] != s.period || !give(*w, rows))
      return refused(n, fmt::format("'{}' is divided in two ways", w->name));
    return Ok{};
  }
  void pass_on(const Node& n) {
    if (!is_elementwise(n) && !keeps_parts(n)) return;
    if (slab(n.out[0])) return;
    for (const ValueId v : n.in) {
      if (v == kNoValue || !slab(v)) continue;
      const Slab s = *slab(v);
      if (!fits_gather(n, s)) return;
      slabs_[slot_at(n.out[0])] = s;
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
    if (end == all.period && take_columns(*n, all)) slabs_[slot_at(whole)] = all;
  }

  // ---- the new program

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
    const State* s = parameter_of(v);
    if (slab(v) || (s && weights_.contains(s->name)))
      return Error(err::kUndivided,
                   fmt::format("{} reads all of {}, which is divided among ranks", reader,
                               s ? fmt::format("'{}'", s->name) : "a value"))
          .at(b_->scope())
          .todo("leave the axis 'tensor' out, or use ZeRO stage 3 instead");
    return whole_[slot_at(v)];
  }

  // The members are named, unlike those of the other axis.
  Attrs axis() const {
    Attrs attrs;
    set_split(attrs, {share_});
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
            .todo("leave the axis 'tensor' out, or use ZeRO stage 3 instead");
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
    if (n.op->name == "embedding" && has_part(n.in[0])) return emit_lookup(n);
    if (n.op->name == "linear_cross_entropy" && has_part(n.in[1])) return emit_head(n);
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
    if (n.op->name == "slice" && !is_slice_of_heads(n)) return emit_slice(n);
    return emit_part(n);
  }

  // Whether the value is a weight with parts.
  bool has_part(ValueId v) const {
    const State* s = parameter_of(v);
    return s != nullptr && weights_.contains(s->name);
  }
  VocabularyPart vocabulary_part(ValueId weight) const {
    const AxisParts& part = weights_.at(parameter_of(weight)->name);
    return {share_, part.ranges[0], part.size, axis()};
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
    const HeadLosses made = emit_head_of_part(*b_, n, in, vocabulary_part(in.w), is_read(n.out[2]));
    whole_[slot_at(n.out[0])] = made.loss;
    whole_[slot_at(n.out[1])] = made.nll;
    whole_[slot_at(n.out[2])] = made.correct;
    return Ok{};
  }
  bool is_read(ValueId v) const {
    return !readers_[slot_at(v)].empty() ||
           std::any_of(p.outputs.begin(), p.outputs.end(),
                       [v](const Named& o) { return o.value == v; });
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
      else if (n.op->name == "broadcast" && has_part(v))
        in.push_back(v);
      else if (const std::optional<Slab> of = slab_of_operand(n, k))
        in.push_back(HONE_TRY(part(v, *of)));
      else
        in.push_back(HONE_TRY(read_by_parts(v)));
    }
    Attrs attrs = n.attrs;
    if (attrs.has("shape")) {
      const std::optional<Shape> local = part_shape(p.type(n.out[0]).shape, s);
      if (!local) return refused(n, fmt::format("{} takes heads apart", n.op->name));
      attrs.set("shape", *local);
    }
    for (const char* heads : {"heads", "kv_heads"})
      if (attrs.has(heads)) attrs.set(heads, divided_heads(n, attrs.integer(heads)));
    if (is_attention(n)) {
      const int64_t before = share_rows(n.attrs.integer("heads"), share_).begin;
      if (before > 0) attrs.set("first_head", before);
    }
    const Values made = b_->emit(n.op->name, in, attrs);
    for (size_t k = 0; k < made.size(); ++k) here_[slot_at(n.out[k])] = made[k];
    return Ok{};
  }
  int64_t divided_heads(const Node& n, int64_t heads) const {
    if (is_attention(n)) return heads / share_.ranks;
    const Slab& s = *slab(n.out[0]);
    return heads * s.count() / s.period;
  }
  // The part of an operand that a node with a part of a result reads; nullopt: all of it.
  std::optional<Slab> slab_of_operand(const Node& n, size_t k) const {
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
  Slab queries_of(const Node& n) const {
    const NodeView view{p, n};
    const int64_t heads = view.integer("heads"), keys = key_heads(n);
    const bool fused = !view.has("k");
    const int64_t size = p.type(n.in[0]).shape[1] / (fused ? heads + 2 * keys : heads);
    if (!fused) return {heads * size, {own(heads, size)}};
    return {
        (heads + 2 * keys) * size,
        {own(heads, size), own(keys, size, heads * size), own(keys, size, (heads + keys) * size)}};
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
  const Share share_;
  const int64_t first_;
  const std::map<std::string, AxisParts>* const asked_;
  std::vector<std::optional<Slab>> slabs_;          // by value: of those in parts
  std::vector<int32_t> parameter_;                  // by value: the state, or -1
  std::vector<std::vector<size_t>> readers_;        // by value: nodes
  std::map<ValueId, std::vector<ValueId>> sliced_;  // slices in parts, by what they slice
  std::map<std::string, AxisParts> weights_;
  Builder* b_ = nullptr;
  std::vector<bool> trained_;  // by value: has a gradient
  Values here_;                // by value: the part
  Values whole_;               // by value: itself, or what is made instead
  Values summed_;              // by value: its sum_gradient
};

}  // namespace

Result<TensorSplit> find_tensor_split(const Program& forward, const Share& share, int64_t first) {
  Program program = forward;
  TensorSplitter splitter(program, share, first);
  HONE_TRY(splitter.find());
  if (splitter.weights().empty())
    return Error(err::kUndivided, "no product of the model can be divided among ranks")
        .todo("leave the axis 'tensor' out, or use ZeRO stage 3 instead");
  return TensorSplit{share, first, splitter.weights()};
}

Result<bool> tensor_split(Program& p, const TensorSplit& how) {
  if (!how.any()) return false;
  TensorSplitter splitter(p, how.share, how.first, &how.weights);
  HONE_TRY(splitter.find());
  // A program with other parts of a weight would read another tensor.
  for (const State& s : p.states) {
    const auto known = how.weights.find(s.name);
    const auto found = splitter.weights().find(s.name);
    const bool has = known != how.weights.end(), finds = found != splitter.weights().end();
    if (has != finds || (has && known->second != found->second))
      return Error(err::kUndivided,
                   fmt::format("program {} divides '{}' in another way than the first one", p.name,
                               s.name))
          .todo("leave the axis 'tensor' out, or use ZeRO stage 3 instead");
  }
  if (splitter.weights().empty()) return false;
  HONE_TRY(splitter.rewrite());
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
