#include "engine/passes/narrow_values.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/graph/op.h"

namespace hone {
namespace {

// The attribute that gives an op's result another type; null: there is none.
const char* result_attribute(const Op& op) {
  if (op.attr("as") != nullptr) return "as";
  return op.takes("table") && op.attr("dtype") != nullptr ? "dtype" : nullptr;
}

bool adds_residual(const Program& p, const Node& n) {
  return n.op->takes("residual") && NodeView{p, n}.has("residual");
}

// By value: whether it is of the residual stream in the forward pass.
std::vector<bool> residual_stream(const Program& p) {
  std::vector<bool> stream(p.values.size(), false);
  const auto mark = [&](ValueId v) { stream[static_cast<size_t>(v)] = true; };
  for (const Node& n : p.nodes) {
    if (n.phase != Phase::forward || !(n.op->sum || adds_residual(p, n))) continue;
    mark(n.out[0]);
    if (!n.op->sum) mark(NodeView{p, n}.input("residual"));
    for (const ValueId v : n.in)
      if (n.op->sum) mark(v);
  }
  return stream;
}

class NarrowValues {
 public:
  NarrowValues(Program& program, DType as) : p(program), as_(as), word_(name_of(as)) {
    p.renumber_producers();
    is_narrow_.resize(p.values.size(), false);
    attribute_.resize(p.nodes.size());
  }

  bool run() {
    bool any = round_logits();
    if (!choose()) return any;
    while (settle()) {
    }
    if (std::find(is_narrow_.begin(), is_narrow_.end(), true) == is_narrow_.end()) return any;
    for (size_t i = 0; i < p.nodes.size(); ++i)
      if (!attribute_[i].empty())
        p.nodes[i].attrs.set(result_attribute(*p.nodes[i].op), attribute_[i]);
    skip_casts();
    return true;
  }

 private:
  static size_t at(ValueId v) { return static_cast<size_t>(v); }
  bool rounds(const Node& n) const { return n.op->product && n.attrs.flag(word_); }
  bool is_cast(const Node& n) const { return n.op->name == "cast"; }

  bool keeps_stream() const { return as_ == DType::bf16; }

  // Ops whose kernels compute in f32 whatever their operands are kept in.
  bool may_be_asked(const Node& n) const {
    if (n.phase == Phase::update || n.op->copies || n.op->waits) return false;
    if (n.op->sum) return n.phase == Phase::forward && keeps_stream();
    return n.op->product || is_cast(n) || n.op->view_offset || !n.op->decompositions.empty();
  }

  bool round_logits() {
    bool any = false;
    for (Node& n : p.nodes)
      if (rounds(n) && n.op->attr("logits") && !n.attrs.has("logits")) {
        n.attrs.set("logits", word_);
        any = true;
      }
    return any;
  }

  // All values that may be narrow are, at first.
  bool choose() {
    std::vector<int> kept(p.values.size(), 0);  // outputs and new versions of states
    for (const Named& o : p.outputs) ++kept[at(o.value)];
    for (const State& s : p.states)
      if (s.next != kNoValue) ++kept[at(s.next)];
    // A cast that disappears leaves its name to what it casts: to one of several.
    std::vector<int> kept_casts(p.values.size(), 0);
    for (const Node& n : p.nodes)
      if (is_cast(n)) kept_casts[at(n.in[0])] += kept[at(n.out[0])];
    const std::vector<bool> wide_stream =
        keeps_stream() ? std::vector<bool>(p.values.size(), false) : residual_stream(p);
    bool any = false;
    for (const Node& n : p.nodes) {
      if (!may_be_asked(n)) continue;
      for (const ValueId v : n.out) {
        Type& type = p.values[at(v)].type;
        if (type.dtype != DType::f32 || type.rank() < 2 || kept[at(v)] > 0 ||
            kept_casts[at(v)] > 1 || wide_stream[at(v)])
          continue;
        type.dtype = as_;
        is_narrow_[at(v)] = any = true;
      }
    }
    return any;
  }

  void widen(ValueId v) {
    is_narrow_[at(v)] = false;
    p.values[at(v)].type.dtype = DType::f32;
  }

  // Values that infer() of a node refuses in 16 bits are in f32 again. Whether there were any.
  bool settle() {
    bool any = false;
    for (size_t i = 0; i < p.nodes.size(); ++i) any |= settle(i);
    return any;
  }

  bool settle(size_t i) {
    Node& n = p.nodes[i];
    const auto narrow = [&](ValueId v) { return v != kNoValue && is_narrow_[at(v)]; };
    const bool reads = std::any_of(n.in.begin(), n.in.end(), narrow);
    if (!reads && std::none_of(n.out.begin(), n.out.end(), narrow)) {
      attribute_[i].clear();
      return false;
    }
    std::optional<Values> best;
    if (may_be_asked(n))
      for (const std::string& as : {std::string(), word_, std::string("f32")}) {
        if (!as.empty() && result_attribute(*n.op) == nullptr) continue;
        std::optional<Values> refused = ask(n, as);
        if (!refused || (best && best->size() <= refused->size())) continue;
        best = std::move(refused);
        attribute_[i] = as;
      }
    if (!best) {  // with these operands it makes nothing that its readers expect
      attribute_[i].clear();
      Values wide = reads ? n.in : n.out;
      if (adds_residual(p, n) && narrow(NodeView{p, n}.input("residual")))
        wide = {NodeView{p, n}.input("residual")};
      std::erase_if(wide, [&](ValueId v) { return !narrow(v); });
      best = std::move(wide);
    }
    for (const ValueId v : *best) widen(v);
    return !best->empty();
  }

  // The results that are not made in 16 bits where attribute `as` has that value; nullopt: the op
  // refuses, or makes others that it must not.
  std::optional<Values> ask(Node& n, const std::string& as) {
    const Attrs own = n.attrs;
    if (!as.empty()) n.attrs.set(result_attribute(*n.op), as);
    const Result<Types> made = n.op->infer({p, n});
    n.attrs = own;
    if (!made) return std::nullopt;
    Values refused;
    for (size_t k = 0; k < n.out.size(); ++k) {
      const Type& wanted = p.type(n.out[k]);
      if ((*made)[k] == wanted) continue;
      if (!is_narrow_[at(n.out[k])] || (*made)[k] != Type{DType::f32, wanted.shape})
        return std::nullopt;
      refused.push_back(n.out[k]);
    }
    return refused;
  }

  // Casts to the type that their operand has by now.
  void skip_casts() {
    std::vector<ValueId> instead(p.values.size());
    for (size_t v = 0; v < instead.size(); ++v) instead[v] = static_cast<ValueId>(v);
    std::erase_if(p.nodes, [&](const Node& n) {
      if (!is_cast(n) || !is_narrow_[at(n.in[0])] || p.type(n.in[0]) != p.type(n.out[0]))
        return false;
      instead[at(n.out[0])] = instead[at(n.in[0])];
      return true;
    });
    for (Node& n : p.nodes)
      for (ValueId& v : n.in)
        if (v != kNoValue) v = instead[at(v)];
    for (State& s : p.states)
      if (s.next != kNoValue) s.next = instead[at(s.next)];
    for (Named& o : p.outputs) o.value = instead[at(o.value)];
    p.renumber_producers();
  }

  Program& p;
  const DType as_;
  const std::string word_;
  std::vector<bool> is_narrow_;         // by value
  std::vector<std::string> attribute_;  // by node: `as`, or empty
};

}  // namespace

Result<bool> narrow_values(Program& p, DType as) {
  if (as == DType::f32) return false;
  return NarrowValues(p, as).run();
}

}  // namespace hone
