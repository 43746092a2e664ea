#include "engine/passes/fuse.h"

#include "engine/ops/ops.h"
#include "engine/passes/simplify.h"

namespace hone {
namespace {

// The program with the facts the rules ask for, kept true by each rule. Nodes keep their places
// until the end: one that is taken out is marked, and values it made are read as others when its
// readers' turn comes.
class Facts {
 public:
  explicit Facts(Program& program) : p(program), gone_(p.nodes.size(), false) {
    p.renumber_producers();
    uses_ = count_uses(p);
    instead_.resize(p.values.size());
    for (size_t v = 0; v < instead_.size(); ++v) instead_[v] = static_cast<ValueId>(v);
  }

  // Node i with its operands as they are by now; nullptr when it was taken out.
  Node* visit(size_t i) {
    if (gone_[i]) return nullptr;
    for (ValueId& v : p.nodes[i].in) v = now(v);
    return &p.nodes[i];
  }
  // The node that makes v, when a single operand, output or new version names v; else nullptr.
  Node* sole_producer(ValueId v) {
    if (v == kNoValue || uses(v) != 1 || producer(v) < 0) return nullptr;
    return &p.nodes[static_cast<size_t>(producer(v))];
  }
  int32_t producer(ValueId v) const { return p.values[static_cast<size_t>(v)].node; }
  int32_t uses(ValueId v) const { return uses_[static_cast<size_t>(v)]; }

  // Moves `by`, so far the node that makes `was`, to the place of node i, so that every operand of
  // both is defined before it. Its outputs are those of `by`; `was` no longer has a reader.
  void absorb(size_t i, ValueId was, Node by) {
    gone_[static_cast<size_t>(producer(was))] = true;
    uses_[static_cast<size_t>(was)] = 0;
    for (ValueId v : by.out) p.values[static_cast<size_t>(v)].node = static_cast<int32_t>(i);
    p.nodes[i] = std::move(by);
  }
  // Node i is taken out; readers of its result read x, which only node i read so far.
  void skip(size_t i, ValueId x) {
    const ValueId made = p.nodes[i].out[0];
    gone_[i] = true;
    instead_[static_cast<size_t>(made)] = x;
    std::swap(uses_[static_cast<size_t>(x)], uses_[static_cast<size_t>(made)]);
  }
  void finish() {
    std::vector<Node> kept;
    for (size_t i = 0; i < p.nodes.size(); ++i)
      if (!gone_[i]) kept.push_back(std::move(p.nodes[i]));
    p.nodes = std::move(kept);
    for (State& s : p.states) s.next = now(s.next);
    for (Named& o : p.outputs) o.value = now(o.value);
    p.renumber_producers();
  }

  Program& p;

 private:
  ValueId now(ValueId v) const { return v == kNoValue ? v : instead_[static_cast<size_t>(v)]; }

  std::vector<int32_t> uses_;
  std::vector<bool> gone_;        // by node
  std::vector<ValueId> instead_;  // by value
};

// The operand of that name, which the op takes; a reference that grows the list where it is short.
ValueId& operand(Node& n, std::string_view name) {
  const size_t i = slot_of(*n.op, name, n.in.size());
  if (n.in.size() <= i) n.in.resize(i + 1, kNoValue);
  return n.in[i];
}
bool has_operand(const Program& p, const Node& n, std::string_view name) {
  return n.op->takes(name) && NodeView{p, n}.has(name);
}

bool absorb_activation(Facts& f, size_t i) {
  const Node& n = f.p.nodes[i];
  if (!n.op->activation) return false;
  const Node* lin = f.sole_producer(n.in[0]);
  if (!lin || !lin->op->attr("act") || lin->attrs.has("act") || has_operand(f.p, *lin, "residual"))
    return false;
  Node fused = *lin;
  const ValueId pre = fused.out[0];
  fused.attrs.set("act", n.op->name);
  fused.attrs.set("save_pre", true);
  fused.out = {n.out[0], pre};
  f.absorb(i, pre, std::move(fused));
  return true;
}

// add(x, r) with x made by a matrix product, or by something else, that takes a residual.
bool absorb_residual(Facts& f, size_t i, bool product) {
  const Node& sum = f.p.nodes[i];
  if (!sum.op->sum) return false;
  for (size_t k = 0; k < 2; ++k) {
    const ValueId x = sum.in[k], r = sum.in[1 - k];
    const Node* n = f.sole_producer(x);
    if (!n || x == r || n->out.size() != 1 || n->op->product != product) continue;
    if (!n->op->takes("residual") || has_operand(f.p, *n, "residual")) continue;
    if (f.p.type(x) != f.p.type(r) || n->attrs.has("act")) continue;
    Node fused = *n;
    operand(fused, "residual") = r;
    fused.out = {sum.out[0]};
    f.absorb(i, x, std::move(fused));
    return true;
  }
  return false;
}

bool absorb_accumulator(Facts& f, size_t i) {
  const Node& sum = f.p.nodes[i];
  if (!sum.op->sum) return false;
  for (size_t k = 2; k-- > 0;) {
    const ValueId x = sum.in[k], acc = sum.in[1 - k];
    if (x == acc || f.p.type(x) != f.p.type(acc)) continue;
    if (f.uses(acc) != 1) continue;  // it is written over
    Node* n = f.sole_producer(x);
    if (!n || accumulated_output(*n) < 0) continue;
    const Overwrite* onto = n->op->accumulator();
    if (has_operand(f.p, *n, onto->operand) || n->out[onto->result] != x) continue;
    if (f.producer(acc) < f.producer(x)) {  // the sum is known before the node
      operand(*n, onto->operand) = acc;
      f.skip(i, x);
    } else if (n->out.size() == 1) {
      Node fused = *n;
      operand(fused, onto->operand) = acc;
      fused.out = {sum.out[0]};
      f.absorb(i, x, std::move(fused));
    } else {
      continue;
    }
    return true;
  }
  return false;
}

// add(r, dx) with dx the first result of a gradient that takes r as operand dsum.
bool absorb_gradient(Facts& f, size_t i) {
  const Node& sum = f.p.nodes[i];
  if (!sum.op->sum) return false;
  for (size_t k = 0; k < 2; ++k) {
    const ValueId dx = sum.in[k], r = sum.in[1 - k];
    Node* n = f.sole_producer(dx);
    if (!n || !n->op->takes("dsum") || has_operand(f.p, *n, "dsum")) continue;
    if (n->out[0] != dx || f.p.type(dx) != f.p.type(r) || f.producer(r) >= f.producer(dx)) continue;
    operand(*n, "dsum") = r;
    f.skip(i, dx);
    return true;
  }
  return false;
}

// An op that takes a scheme reads the payload that dequantize would widen for it.
bool absorb_dequantize(Facts& f, size_t i) {
  Node& n = f.p.nodes[i];
  if (n.op->widens || n.op->attr("scheme") == nullptr || n.attrs.has("scheme")) return false;
  const char* const matrix = n.op->takes("w") ? "w" : "table";
  const ValueId w = operand(n, matrix);
  if (f.producer(w) < 0) return false;
  const Node& from = f.p.nodes[static_cast<size_t>(f.producer(w))];
  if (!from.op->widens || f.p.type(w).dtype != f.p.type(n.in[0]).dtype) return false;
  const NodeView view{f.p, from};
  if (view.has("scales") && !n.op->takes("nested_scales")) return false;
  n.attrs.set("scheme", view.text("scheme"));
  for (const char* scale : {"scales", "nested_scales", "offset"})
    if (view.has(scale)) operand(n, scale) = view.input(scale);
  operand(n, matrix) = view.input("payload");
  return true;
}

// A product of groups whose weights are a view of a matrix in blocks reads its payload.
bool absorb_blocks_of_groups(Facts& f, size_t i) {
  Node& n = f.p.nodes[i];
  if (n.op->name != "grouped_matmul") return false;
  const ValueId w = n.in[Op::kWeightOperand];
  if (f.producer(w) < 0) return false;
  const Node& view = f.p.nodes[static_cast<size_t>(f.producer(w))];
  if (view.op->name != "reshape" || f.producer(view.in[0]) < 0) return false;
  const Node& from = f.p.nodes[static_cast<size_t>(f.producer(view.in[0]))];
  if (!from.op->widens || f.p.type(w).dtype != f.p.type(n.in[0]).dtype) return false;
  const NodeView blocks{f.p, from};
  n.op = f.p.ops().find("grouped_blocks");
  n.in = {n.in[0], blocks.input("payload"), n.in[2]};
  for (const char* scale : {"scales", "nested_scales", "offset"})
    n.in.push_back(blocks.has(scale) ? blocks.input(scale) : kNoValue);
  n.attrs.set("scheme", blocks.text("scheme"));
  return true;
}

// Each node is looked at once, and once more after each rule that joined it with another.
template <class Rule>
bool apply(Program& p, Rule rule, int64_t* looked_at) {
  Facts f(p);
  bool any = false;
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    for (bool again = true; again && f.visit(i); any |= again) {
      again = rule(f, i);
      if (looked_at) ++*looked_at;
    }
  }
  if (any) f.finish();
  return any;
}

bool residual_of_other(Facts& f, size_t i) { return absorb_residual(f, i, false); }
bool residual_of_product(Facts& f, size_t i) { return absorb_residual(f, i, true); }

}  // namespace

Result<bool> fuse_forward(Program& p, int64_t* looked_at) {
  const bool linear = apply(p, absorb_dequantize, nullptr);
  const bool widened = apply(p, absorb_blocks_of_groups, nullptr) || linear;
  if (widened) remove_dead_nodes(p);  // nodes without a reader
  bool a = apply(p, absorb_activation, looked_at);
  bool b = apply(p, residual_of_other, looked_at);
  bool c = apply(p, residual_of_product, looked_at);
  return widened || a || b || c;
}

Result<bool> fuse_accumulate(Program& p, int64_t* looked_at) {
  bool a = apply(p, absorb_accumulator, looked_at);
  bool b = apply(p, residual_of_product, looked_at);
  bool c = apply(p, absorb_gradient, looked_at);
  return a || b || c;
}

}  // namespace hone
