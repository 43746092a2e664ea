#include "engine/passes/store_activations.h"

#include <algorithm>
#include <utility>

#include "engine/graph/op.h"

namespace hone {
namespace {

class Storing {
 public:
  Storing(Program& program, DType as, bool saturate) : p(program), as_(as), saturate_(saturate) {
    p.renumber_producers();
    late_.resize(p.values.size(), false);
    kept_.resize(p.values.size(), false);
    for (const Node& n : p.nodes)
      for (ValueId v : n.in)
        if (v != kNoValue && n.phase == Phase::backward) late_[at(v)] = true;
    for (const Named& o : p.outputs) kept_[at(o.value)] = true;
    for (const State& s : p.states)
      if (s.next != kNoValue) kept_[at(s.next)] = true;
    stored_.resize(p.values.size(), kNoValue);
  }

  bool rewrite() {
    bool any = false;
    std::vector<Node> before = std::exchange(p.nodes, {});
    for (Node& n : before) {
      if (n.phase == Phase::backward || keeps_statistics(n))
        read_stored(n);
      else if (rounds(n))
        read_rounded(n);
      const bool forward = n.phase == Phase::forward && !makes_loss(n);
      p.nodes.push_back(std::move(n));
      if (!forward) continue;
      const size_t made = p.nodes.size() - 1;
      for (size_t k = 0; k < p.nodes[made].out.size(); ++k) {
        if (!waits(p.nodes[made], k)) continue;
        const ValueId v = p.nodes[made].out[k];
        const ValueId stored = cast(v, as_, p.nodes[made]);
        stored_[at(v)] = stored;
        any = true;
      }
    }
    p.renumber_producers();
    return any;
  }

 private:
  static size_t at(ValueId v) { return static_cast<size_t>(v); }
  bool is_late(ValueId v) const { return late_[at(v)]; }

  // Result k is an activation that the backward pass reads.
  bool waits(const Node& n, size_t k) const {
    const ValueId v = n.out[k];
    const Type& t = p.type(v);
    if (t.dtype != DType::f32 || t.rank() < 2 || !is_late(v) || kept_[at(v)]) return false;
    return k == 0 || keeps_what_it_activates(n);
  }
  bool makes_loss(const Node& n) const {
    return std::any_of(n.out.begin(), n.out.end(),
                       [&](ValueId v) { return p.type(v).rank() == 0; });
  }
  bool keeps_statistics(const Node& n) const {
    if (n.phase != Phase::forward || n.out.size() < 2) return false;
    return std::any_of(n.out.begin() + 1, n.out.end(), [&](ValueId v) {
      return is_late(v) && p.type(v).shape != p.type(n.out[0]).shape;
    });
  }
  // A product that rounds its operands to this very type reads them as they are.
  bool rounds(const Node& n) const {
    return n.op->product && n.attrs.flag(std::string(name_of(as_)));
  }
  // In the forward pass too, but for the head, whose gradients have the type of its operands: the
  // same bits, and the value in f32 need not live as long. A value that was kept from overflowing
  // is another one.
  void read_rounded(Node& n) const {
    if (saturate_ || n.op->name == "linear_cross_entropy") return;
    for (size_t i = 0; i < 2; ++i)
      if (const ValueId v = n.in[i]; at(v) < stored_.size() && stored_[at(v)] != kNoValue)
        n.in[i] = stored_[at(v)];
  }
  void read_stored(Node& n) {
    std::vector<std::pair<ValueId, ValueId>> wide;  // stored value, in f32
    // The head reads x in f32, with which every backend has it fused.
    const bool as_it_is =
        n.phase == Phase::backward && rounds(n) && n.op->name != "linear_cross_entropy";
    for (size_t i = 0; i < n.in.size(); ++i) {
      ValueId& v = n.in[i];
      if (v == kNoValue || at(v) >= stored_.size() || stored_[at(v)] == kNoValue) continue;
      const ValueId from = stored_[at(v)];
      if (as_it_is && i < 2) {
        v = from;
        continue;
      }
      auto found =
          std::find_if(wide.begin(), wide.end(), [&](const auto& w) { return w.first == from; });
      if (found == wide.end()) found = wide.insert(wide.end(), {from, cast(from, DType::f32, n)});
      v = found->second;
    }
  }
  ValueId cast(ValueId v, DType to, const Node& beside) {
    Node n;
    n.op = p.ops().find("cast");
    n.attrs.set("dtype", std::string(name_of(to)));
    if (saturate_ && to == as_) n.attrs.set("saturate", true);
    n.in = {v};
    n.out = {p.new_value({to, p.type(v).shape})};
    n.scope = beside.scope;
    n.phase = beside.phase;
    const ValueId made = n.out[0];
    p.nodes.push_back(std::move(n));
    return made;
  }

  Program& p;
  const DType as_;
  const bool saturate_;
  std::vector<bool> late_,
      kept_;                     // by value: read by the backward pass; an output or a new version
  std::vector<ValueId> stored_;  // by value
};

}  // namespace

Result<bool> store_activations(Program& p, DType as, bool saturate) {
  if (as == DType::f32) return false;
  return Storing(p, as, saturate).rewrite();
}

}  // namespace hone
