#include "engine/plan/buffers.h"

#include <algorithm>
#include <utility>

namespace hone {
namespace {

// The operands whose storage the k-th result may take: those written over, or the one it is a view
// of as a whole.
OperandList same_place(const Program& p, const Node& n, size_t k) {
  const NodeView view{p, n};
  OperandList operands = inplace_inputs(view, k);
  if (n.op->view_offset && n.op->view_offset(view) == 0 &&
      view.in(0).bytes() == view.out(0).bytes())
    operands.push_back(0);
  return operands;
}

// Finds the chain of values from a state's new version back to its old one.
class ChainFinder {
 public:
  explicit ChainFinder(const Program& program) : p(program), seen_for_(p.values.size(), kNoValue) {}

  // Through operands in whose place the values may be, newest first; empty when the old version
  // is not on such a chain. Each value is visited once.
  std::vector<ValueId> chain(const State& s) {
    std::vector<ValueId> chain;
    if (s.next != kNoValue) (void)extend(s.next, s.value, chain);
    return chain;
  }

 private:
  bool extend(ValueId v, ValueId target, std::vector<ValueId>& chain) {
    if (std::exchange(seen_for_[static_cast<size_t>(v)], target) == target) return false;
    chain.push_back(v);
    if (v == target) return true;
    const int32_t at = p.values[static_cast<size_t>(v)].node;
    if (at >= 0) {
      const Node& n = p.nodes[static_cast<size_t>(at)];
      for (size_t i : same_place(p, n, result_index(n, v)))
        if (extend(n.in[i], target, chain)) return true;
    }
    chain.pop_back();
    return false;
  }

  const Program& p;
  std::vector<ValueId> seen_for_;  // by value: the old version that was last searched through it
};

std::vector<int32_t> busy_until(const Program& p) {
  std::vector<int32_t> until(p.nodes.size());
  for (size_t i = 0; i < until.size(); ++i) until[i] = static_cast<int32_t>(i);
  for (size_t i = p.nodes.size(); i-- > 0;) {  // the first wait comes last
    const Node& n = p.nodes[i];
    if (!n.op->waits) continue;
    until[static_cast<size_t>(p.values[static_cast<size_t>(n.in[0])].node)] =
        static_cast<int32_t>(i);
  }
  return until;
}

class Sharing {
 public:
  explicit Sharing(const Program& program) : p(program) {}

  Buffers run() {
    const int32_t end = static_cast<int32_t>(p.nodes.size());
    b.busy_until = busy_until(p);
    last_use_.assign(p.values.size(), -1);
    last_reader_ = last_use_;
    for (int32_t i = 0; i < end; ++i) {
      const Node& n = p.nodes[static_cast<size_t>(i)];
      const int32_t until = b.busy_until[static_cast<size_t>(i)];
      for (const std::vector<ValueId>* of : {&n.in, &n.out})
        for (ValueId v : *of)
          if (v != kNoValue)
            last_use_[static_cast<size_t>(v)] = std::max(last_use_[static_cast<size_t>(v)], until);
      for (ValueId v : n.in)
        if (v != kNoValue) last_reader_[static_cast<size_t>(v)] = i;
    }
    for (const Named& n : p.outputs) last_use_[static_cast<size_t>(n.value)] = end;
    for (const State& s : p.states)
      if (s.next != kNoValue) last_use_[static_cast<size_t>(s.next)] = end;
    seen_until_ = last_use_;
    for (size_t i = p.nodes.size(); i-- > 0;) {
      const Node& n = p.nodes[i];
      if (!is_view(p, n)) continue;
      int32_t& until = seen_until_[static_cast<size_t>(n.in[0])];
      until = std::max(until, seen_until_[static_cast<size_t>(n.out[0])]);
    }
    rewritten_at_.assign(p.states.size(), end);

    b.of.resize(p.values.size());
    state_chain_.assign(p.values.size(), -1);
    for (const Named& n : p.inputs) own(n.value, -1);
    ChainFinder finder(p);
    for (size_t s = 0; s < p.states.size(); ++s) {
      own(p.states[s].value, -1);
      buffer(p.states[s].value).state = static_cast<int32_t>(s);
      if (p.states[s].next == kNoValue) continue;
      rewritten_at_[s] = begins_at(p.states[s].next);
      for (ValueId v : finder.chain(p.states[s])) {
        state_chain_[static_cast<size_t>(v)] = static_cast<int32_t>(s);
        if (const int32_t at = p.values[static_cast<size_t>(v)].node; at >= 0)
          rewritten_at_[s] = std::min(rewritten_at_[s], at);
      }
    }
    for (int32_t i = 0; i < end; ++i) place_node(i);
    moved_to_.assign(b.all.size(), -1);
    for (const State& s : p.states) take_old_place(s);
    for (Storage& x : b.of)
      if (x.buffer >= 0) x.buffer = now(x.buffer);
    return std::move(b);
  }

 private:
  // The first node that may write the value: an asynchronous one writes from its start.
  int32_t begins_at(ValueId v) const {
    const int32_t at = p.values[static_cast<size_t>(v)].node;
    const Node& n = p.nodes[static_cast<size_t>(at)];
    return n.op->waits ? p.values[static_cast<size_t>(n.in[0])].node : at;
  }

  Buffers::Buffer& buffer(ValueId v) {
    return b.all[static_cast<size_t>(b.of[static_cast<size_t>(v)].buffer)];
  }

  void own(ValueId v, int32_t node) {
    b.of[static_cast<size_t>(v)] = {static_cast<int32_t>(b.all.size()), 0};
    b.all.push_back({p.type(v).bytes(), node, last_use_[static_cast<size_t>(v)], -1, p.space(v)});
    reader_.push_back(last_reader_[static_cast<size_t>(v)]);
  }

  void join(ValueId v, ValueId with, int64_t offset) {
    Storage s = b.of[static_cast<size_t>(with)];
    s.offset += offset;
    b.of[static_cast<size_t>(v)] = s;
    Buffers::Buffer& to = buffer(v);
    to.last = std::max(to.last, last_use_[static_cast<size_t>(v)]);
    int32_t& reader = reader_[static_cast<size_t>(s.buffer)];
    reader = std::max(reader, last_reader_[static_cast<size_t>(v)]);
  }

  void place_node(int32_t i) {
    const Node& n = p.nodes[static_cast<size_t>(i)];
    NodeView view{p, n};
    if (is_view(p, n) && may_view(n)) {
      join(n.out[0], n.in[0], n.op->view_offset(view));
      return;
    }
    for (ValueId v : n.in)
      if (v != kNoValue) ++users_of(v);
    for (size_t k = 0; k < n.out.size(); ++k) {
      bool joined = false;
      for (size_t operand : own_state_first(inplace_inputs(view, k), n, n.out[k])) {
        if (!may_overwrite(n.in[operand], i, n.out[k])) continue;
        join(n.out[k], n.in[operand], 0);
        ++users_of(n.out[k]);
        joined = true;
        break;
      }
      if (!joined) own(n.out[k], i);
    }
    for (ValueId v : n.in)
      if (v != kNoValue) users_of(v) = 0;
  }

  // Operands that `out` may be written over. The state whose new version `out` becomes comes first: its
  // place could not be taken later, since this node reads it.
  template <class Operands>
  std::vector<size_t> own_state_first(const Operands& operands, const Node& n, ValueId out) {
    std::vector<size_t> order(operands.begin(), operands.end());
    const int32_t chain = state_chain_[static_cast<size_t>(out)];
    if (chain >= 0)
      std::stable_partition(order.begin(), order.end(), [&](size_t operand) {
        return n.in[operand] != kNoValue && buffer(n.in[operand]).state == chain;
      });
    return order;
  }

  // The number of operands and results of the node being placed that use the buffer of v.
  int32_t& users_of(ValueId v) {
    users_.resize(b.all.size());
    return users_[static_cast<size_t>(b.of[static_cast<size_t>(v)].buffer)];
  }

  // A view of a state that this program rewrites would change under its reader, unless its readers
  // come first or it is a step on the way to the new version.
  bool may_view(const Node& n) {
    const int32_t s = buffer(n.in[0]).state;
    return s < 0 || p.states[static_cast<size_t>(s)].next == kNoValue ||
           state_chain_[static_cast<size_t>(n.out[0])] == s ||
           seen_until_[static_cast<size_t>(n.out[0])] < rewritten_at_[static_cast<size_t>(s)];
  }

  bool may_overwrite(ValueId v, int32_t i, ValueId out) {
    const Storage s = b.of[static_cast<size_t>(v)];
    const Buffers::Buffer& from = b.all[static_cast<size_t>(s.buffer)];
    if (s.offset != 0 || from.bytes != p.type(out).bytes() ||
        from.last != b.busy_until[static_cast<size_t>(i)] ||
        reader_[static_cast<size_t>(s.buffer)] != i)
      return false;
    if (from.state >= 0 && state_chain_[static_cast<size_t>(out)] != from.state) return false;
    if (from.first < 0 && from.state < 0) return false;  // an input
    // Read through another operand too, or already taken by another result.
    return users_of(v) == 1;
  }

  // The buffer that holds what was given to this one.
  int32_t now(int32_t buffer) const {
    const int32_t to = moved_to_[static_cast<size_t>(buffer)];
    return to < 0 ? buffer : to;
  }

  void take_old_place(const State& s) {
    if (s.next == kNoValue) return;
    const int32_t to = now(b.of[static_cast<size_t>(s.value)].buffer);
    const int32_t from = now(b.of[static_cast<size_t>(s.next)].buffer);
    if (from == to) return;
    Buffers::Buffer& old_place = b.all[static_cast<size_t>(to)];
    Buffers::Buffer& made = b.all[static_cast<size_t>(from)];
    bool fits = made.state < 0 && made.first >= 0 && made.bytes == old_place.bytes &&
                b.of[static_cast<size_t>(s.next)].offset == 0 && old_place.last < made.first;
    HONE_BUG_IF(!fits, "program {}: the new version of state '{}' cannot take the old one's place",
                p.name, s.name);
    moved_to_[static_cast<size_t>(from)] = to;
    old_place.last = std::max(old_place.last, made.last);
    made.bytes = 0;
  }

  const Program& p;
  Buffers b;
  std::vector<int32_t> last_use_;      // by value: until which node it is in use
  std::vector<int32_t> last_reader_;   // by value: the last node that reads it, or -1
  std::vector<int32_t> reader_;        // by buffer: the last node that reads a value of it
  std::vector<int32_t> seen_until_;    // by ValueId: the last use, also through views
  std::vector<int32_t> rewritten_at_;  // by state: the first node that writes over it
  std::vector<int32_t> state_chain_;   // by ValueId: the state whose storage it may take
  std::vector<int32_t> users_;         // by buffer: users_of, 0 between nodes
  std::vector<int32_t> moved_to_;      // by buffer: the state's that it takes, or -1
};

}  // namespace

size_t result_index(const Node& n, ValueId v) {
  const auto guess = static_cast<size_t>(v - n.out[0]);  // results are mostly numbered in a row
  if (guess < n.out.size() && n.out[guess] == v) return guess;
  return static_cast<size_t>(std::find(n.out.begin(), n.out.end(), v) - n.out.begin());
}

bool is_view(const Program& p, const Node& n) {
  return n.op->view_offset && n.op->view_offset({p, n}) >= 0;
}

Buffers share_storage(const Program& p) { return Sharing(p).run(); }

}  // namespace hone
