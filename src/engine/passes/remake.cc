#include "engine/passes/remake.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/graph/op.h"

namespace hone {
namespace {

class Remaking {
 public:
  explicit Remaking(Program& program) : p(program) {
    p.renumber_producers();
    readers_.resize(p.values.size());
    kept_.resize(p.values.size(), false);
    for (const Named& o : p.outputs) kept_[at(o.value)] = true;
    for (const State& s : p.states)
      if (s.next != kNoValue) kept_[at(s.next)] = true;
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      for (const ValueId v : p.nodes[i].in)
        if (v != kNoValue) readers_[at(v)].push_back(i);
      note_activation(p.nodes[i]);
    }
    moved_.resize(p.nodes.size(), false);
    after_.resize(p.nodes.size());
  }

  bool run() {
    bool any = false;
    for (size_t i = 0; i < p.nodes.size(); ++i) any |= remake_at(i);
    if (!any) return false;
    std::vector<Node> nodes;
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      if (!moved_[i]) nodes.push_back(p.nodes[i]);
      for (const size_t reader : after_[i]) nodes.push_back(p.nodes[reader]);
    }
    p.nodes = std::move(nodes);
    p.renumber_producers();
    return true;
  }

 private:
  // The operands of an activation (its second one is kNoValue) or gate, and its kind; x and gamma of a norm, and its
  // gradient's name.
  using Operands = std::tuple<ValueId, ValueId, std::string>;
  struct Made {
    ValueId y = kNoValue, beta = kNoValue, rstd = kNoValue;  // those two of norms
  };
  static size_t at(ValueId v) { return static_cast<size_t>(v); }

  void note_activation(const Node& n) {
    if (n.phase != Phase::forward) return;
    const NodeView view{p, n};
    if (n.op->name == "gate")
      activated_[{n.in[0], n.in[1], n.attrs.text("kind")}] = {n.out[0]};
    else if (n.op->activation)
      activated_[{n.in[0], kNoValue, n.op->name}] = {n.out[0]};
    else if (is_norm(n))
      activated_[{n.in[0], n.in[1], n.op->name + "_grad"}] = {
          n.out[0], n.op->takes("beta") && view.has("beta") ? view.input("beta") : kNoValue,
          n.out.back()};
    else if (n.op->attr("act") && view.text("act") != "none" && n.attrs.flag("save_pre") &&
             !view.has("residual"))
      activated_[{n.out[1], kNoValue, n.attrs.text("act")}] = {n.out[0]};
  }

  // Whether a node before node i may be after it: no node up to there reads what it makes.
  bool may_move(size_t reader, size_t i) const {
    if (moved_[reader] || p.nodes[reader].attrs.flag("remade")) return false;
    const std::vector<ValueId>& made = p.nodes[reader].out;
    return std::all_of(made.begin(), made.end(), [&](ValueId v) {
      const std::vector<size_t>& readers = readers_[at(v)];
      return std::all_of(readers.begin(), readers.end(), [&](size_t r) { return r > i; });
    });
  }

  static bool is_norm(const Node& n) { return n.op->takes("gamma") && n.op->takes("x"); }

  // The activation or norm whose gradient node i makes; its y is kNoValue: it must be kept, or there is none.
  Made activation_of(size_t i) const {
    const Node& n = p.nodes[i];
    const NodeView view{p, n};
    const bool makes = n.op->attr("remade") && !n.attrs.flag("remade");
    if (n.phase != Phase::backward || !makes || moved_[i]) return {};
    const bool of_norm = is_norm(n);
    const ValueId second = of_norm || is_gate(n) ? n.in[1] : kNoValue;
    const auto found =
        activated_.find({n.in[0], second, of_norm ? n.op->name : n.attrs.text("kind")});
    if (found == activated_.end() || kept_[at(found->second.y)]) return {};
    const Made& made = found->second;
    if (of_norm && view.input("rstd") != made.rstd) return {};
    return p.type(made.y) == (of_norm ? view.in("dy") : p.type(n.in[0])) ? made : Made{};
  }
  static bool is_gate(const Node& n) { return n.in.size() == 3 && !is_norm(n); }

  bool remake_at(size_t i) {
    const Made made = activation_of(i);
    const ValueId y = made.y;
    if (y == kNoValue) return false;
    std::vector<size_t> late;
    for (const size_t reader : readers_[at(y)])
      if (p.nodes[reader].phase == Phase::backward) late.push_back(reader);
    late.erase(std::unique(late.begin(), late.end()), late.end());
    const auto comes_after = [&](size_t reader) { return reader > i || may_move(reader, i); };
    if (late.empty() || !std::all_of(late.begin(), late.end(), comes_after)) return false;
    const ValueId again = p.new_value(Type(p.type(y)));
    Node& gradient = p.nodes[i];
    gradient.attrs.set("remade", true);
    gradient.out.insert(gradient.out.end() - (gradient.attrs.flag("sums") ? 1 : 0), again);
    if (made.beta != kNoValue) {
      gradient.in.resize(gradient.op->operands.size(), kNoValue);
      gradient.in.back() = made.beta;
    }
    for (const size_t reader : late) {
      std::replace(p.nodes[reader].in.begin(), p.nodes[reader].in.end(), y, again);
      if (reader > i) continue;
      moved_[reader] = true;
      after_[i].push_back(reader);
    }
    return true;
  }

  Program& p;
  std::vector<std::vector<size_t>> readers_;  // by value: nodes
  std::vector<bool> kept_;                    // by value: an output or a new version
  std::map<Operands, Made> activated_;
  std::vector<bool> moved_;                 // by node
  std::vector<std::vector<size_t>> after_;  // by node: the nodes that move there
};

}  // namespace

Result<bool> remake(Program& p) { return Remaking(p).run(); }

}  // namespace hone
