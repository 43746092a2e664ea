#include "engine/passes/fuse.h"

#include "engine/ops/ops.h"
#include "engine/passes/simplify.h"

namespace hone {
namespace {

// The program with the facts the rules ask for.
class Facts {
 public:
  explicit Facts(Program& program) : p(program) { refresh(); }
  void refresh() {
    p.renumber_producers();
    uses = count_uses(p);
  }
  // The node that makes v, when `reader` is the only one to use v; else nullptr.
  Node* sole_producer(ValueId v, const std::string& op) {
    if (v == kNoValue || uses[static_cast<size_t>(v)] != 1) return nullptr;
    int32_t at = p.values[static_cast<size_t>(v)].node;
    if (at < 0) return nullptr;
    Node& n = p.nodes[static_cast<size_t>(at)];
    return op.empty() || n.op->name == op ? &n : nullptr;
  }
  int32_t producer(ValueId v) const { return p.values[static_cast<size_t>(v)].node; }

  Program& p;
  std::vector<int32_t> uses;
};

void set_input(Node& n, size_t i, ValueId v) {
  while (n.in.size() <= i) n.in.push_back(kNoValue);
  n.in[i] = v;
}

// Removes node `at`, whose output 0 is now made by node `by` in its output `k`.
void absorb(Program& p, size_t at, Node by, size_t k) {
  // `by` moves to the place of `at`, so that every operand of both is defined before it.
  size_t from = static_cast<size_t>(p.values[static_cast<size_t>(by.out[k])].node);
  by.out[k] = p.nodes[at].out[0];
  p.nodes[at] = std::move(by);
  p.nodes.erase(p.nodes.begin() + static_cast<std::ptrdiff_t>(from));
}

bool is_activation(const std::string& op) {
  return op == "gelu" || op == "gelu_tanh" || op == "silu" || op == "relu";
}

bool absorb_activation(Facts& f, size_t i) {
  if (!is_activation(f.p.nodes[i].op->name)) return false;
  Node* lin = f.sole_producer(f.p.nodes[i].in[0], "linear");
  if (!lin || lin->attrs.has("act") || (lin->in.size() > 3 && lin->in[3] != kNoValue)) return false;
  Node fused = *lin;
  ValueId pre = fused.out[0];
  fused.attrs.set("act", f.p.nodes[i].op->name);
  fused.attrs.set("save_pre", true);
  size_t from = static_cast<size_t>(f.producer(pre));
  fused.out = {f.p.nodes[i].out[0], pre};
  f.p.nodes[i] = std::move(fused);
  f.p.nodes.erase(f.p.nodes.begin() + static_cast<std::ptrdiff_t>(from));
  return true;
}

// add(x, r) with x made by `op`, which takes r as operand number `slot`.
bool absorb_residual(Facts& f, size_t i, const std::string& op, size_t slot) {
  if (f.p.nodes[i].op->name != "add") return false;
  for (size_t k = 0; k < 2; ++k) {
    ValueId x = f.p.nodes[i].in[k], r = f.p.nodes[i].in[1 - k];
    Node* n = f.sole_producer(x, op);
    if (!n || x == r || n->out.size() != 1 || (n->in.size() > slot && n->in[slot] != kNoValue))
      continue;
    if (f.p.type(x) != f.p.type(r) || n->attrs.has("act")) continue;
    Node fused = *n;
    set_input(fused, slot, r);
    absorb(f.p, i, std::move(fused), 0);
    return true;
  }
  return false;
}

bool absorb_accumulator(Facts& f, size_t i) {
  if (f.p.nodes[i].op->name != "add") return false;
  for (size_t k = 2; k-- > 0;) {
    ValueId x = f.p.nodes[i].in[k], acc = f.p.nodes[i].in[1 - k];
    if (x == acc || f.p.type(x) != f.p.type(acc)) continue;
    if (f.uses[static_cast<size_t>(acc)] != 1) continue;  // it is written over
    Node* n = f.sole_producer(x, "");
    if (!n || n->op->accumulator < 0) continue;
    size_t slot = static_cast<size_t>(n->op->accumulator);
    if (n->in.size() > slot && n->in[slot] != kNoValue) continue;
    size_t out = static_cast<size_t>(n->op->accumulated_output);
    if (n->out.size() <= out || n->out[out] != x) continue;
    int32_t at = f.producer(x);
    if (f.producer(acc) < at) {  // the sum is known where the node stands
      set_input(*n, slot, acc);
      replace_uses(f.p, f.p.nodes[i].out[0], x);
      f.p.nodes.erase(f.p.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (n->out.size() == 1) {
      Node fused = *n;
      set_input(fused, slot, acc);
      absorb(f.p, i, std::move(fused), 0);
    } else {
      continue;
    }
    return true;
  }
  return false;
}

template <class Rule>
bool apply(Program& p, Rule rule) {
  Facts f(p);
  bool any = false;
  for (size_t i = 0; i < p.nodes.size();) {
    if (rule(f, i)) {
      any = true;
      f.refresh();
      if (i > 0) --i;  // a node before i was taken out
    } else {
      ++i;
    }
  }
  return any;
}

}  // namespace

Result<bool> fuse_forward(Program& p) {
  bool a = apply(p, absorb_activation);
  bool b = apply(p, [](Facts& f, size_t i) { return absorb_residual(f, i, "dropout", 4); });
  bool c = apply(p, [](Facts& f, size_t i) { return absorb_residual(f, i, "linear", 3); });
  return a || b || c;
}

Result<bool> fuse_accumulate(Program& p) {
  bool a = apply(p, absorb_accumulator);
  bool b = apply(p, [](Facts& f, size_t i) { return absorb_residual(f, i, "linear", 3); });
  return a || b;
}

}  // namespace hone
