#include "engine/passes/simplify.h"

#include <cmath>
#include <unordered_map>
#include <utility>

#include "engine/graph/fingerprint.h"
#include "engine/ops/ops.h"

namespace hone {

std::vector<int32_t> count_uses(const Program& p) {
  std::vector<int32_t> uses(p.values.size(), 0);
  auto use = [&](ValueId v) {
    if (v != kNoValue) ++uses[static_cast<size_t>(v)];
  };
  for (const Node& n : p.nodes)
    for (ValueId v : n.in) use(v);
  for (const State& s : p.states) use(s.next);
  for (const Named& n : p.outputs) use(n.value);
  return uses;
}

bool remove_dead_nodes(Program& p) {
  p.renumber_producers();
  std::vector<int32_t> uses = count_uses(p);
  std::vector<bool> dead(p.nodes.size(), false);
  bool any = false;
  for (size_t i = p.nodes.size(); i-- > 0;) {
    // Other ranks may read results that this rank does not.
    bool used = p.nodes[i].lane == Lane::comm || waits_for_ranks(p, p.nodes[i]);
    for (ValueId v : p.nodes[i].out) used = used || uses[static_cast<size_t>(v)] > 0;
    if (used) continue;
    dead[i] = any = true;
    for (ValueId v : p.nodes[i].in)
      if (v != kNoValue) --uses[static_cast<size_t>(v)];
  }
  if (!any) return false;
  std::vector<Node> kept;
  for (size_t i = 0; i < p.nodes.size(); ++i)
    if (!dead[i]) kept.push_back(std::move(p.nodes[i]));
  p.nodes = std::move(kept);
  p.renumber_producers();
  return true;
}

namespace {

// The value of a constant node, if v is one.
const double* constant_of(const Program& p, ValueId v) {
  if (v == kNoValue) return nullptr;
  int32_t at = p.values[static_cast<size_t>(v)].node;
  if (at < 0 || p.nodes[static_cast<size_t>(at)].op->name != "constant") return nullptr;
  const Attr* const value = p.nodes[static_cast<size_t>(at)].attrs.find("value");
  return value ? std::get_if<double>(value) : nullptr;
}

// A value equal to the node's output 0, which replaces the node, or kNoValue.
ValueId same_as(const Program& p, const Node& n) {
  if (n.op->waits || (!n.op->view_offset && !n.op->neutral)) return kNoValue;
  const Type& type = p.type(n.out[0]);
  auto keeps_type = [&](ValueId v) { return p.type(v) == type ? v : kNoValue; };
  if (n.op->view_offset) return n.op->view_offset({p, n}) == 0 ? keeps_type(n.in[0]) : kNoValue;
  // -0 + 0 is 0: x + -0 is x for every x, and integers have one zero.
  auto neutral = [&](double c) {
    return c == *n.op->neutral &&
           (!is_float(type.dtype) || std::signbit(c) == std::signbit(*n.op->neutral));
  };
  for (int k = 0; k < 2; ++k)
    if (const double* c = constant_of(p, n.in[static_cast<size_t>(1 - k)]); c && neutral(*c))
      return keeps_type(n.in[static_cast<size_t>(k)]);
  return kNoValue;
}

// By value: the new versions of states, which must stay values of their own.
std::vector<bool> new_versions(const Program& p) {
  std::vector<bool> pinned(p.values.size(), false);
  for (const State& s : p.states)
    if (s.next != kNoValue) pinned[static_cast<size_t>(s.next)] = true;
  return pinned;
}

// By value: which one is read in its stead, so far itself.
std::vector<ValueId> themselves(const Program& p) {
  std::vector<ValueId> to(p.values.size());
  for (size_t v = 0; v < to.size(); ++v) to[v] = static_cast<ValueId>(v);
  return to;
}

void rename_operands(Node& n, const std::vector<ValueId>& to) {
  for (ValueId& v : n.in)
    if (v != kNoValue) v = to[static_cast<size_t>(v)];
}

bool skip_identities(Program& p) {
  const std::vector<bool> pinned = new_versions(p);
  std::vector<ValueId> to = themselves(p);
  std::vector<int32_t> uses = count_uses(p);
  bool any = false;
  for (Node& n : p.nodes) {
    rename_operands(n, to);
    const auto made = static_cast<size_t>(n.out[0]);
    if (pinned[made] || uses[made] == 0) continue;
    const ValueId v = same_as(p, n);
    if (v == kNoValue) continue;
    to[made] = v;
    uses[static_cast<size_t>(v)] += std::exchange(uses[made], 0);
    any = true;
  }
  for (Named& n : p.outputs) n.value = to[static_cast<size_t>(n.value)];
  return any;
}

bool merge_equal_nodes(Program& p) {
  std::unordered_multimap<uint64_t, size_t> first;  // hash -> node
  first.reserve(p.nodes.size());
  std::vector<ValueId> to = themselves(p);
  const std::vector<bool> pinned = new_versions(p);
  bool any = false;
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    Node& n = p.nodes[i];
    rename_operands(n, to);
    bool keep = n.lane == Lane::comm || n.op->waits;
    for (ValueId v : n.out) keep = keep || pinned[static_cast<size_t>(v)];
    if (keep || n.clone) continue;
    const uint64_t hash = hash_of(n);
    auto [at, end] = first.equal_range(hash);
    while (at != end && !computes_the_same(p.nodes[at->second], n)) ++at;
    if (at == end) {
      first.emplace(hash, i);
      continue;
    }
    const Node& same = p.nodes[at->second];
    for (size_t k = 0; k < n.out.size(); ++k) to[static_cast<size_t>(n.out[k])] = same.out[k];
    any = true;
  }
  if (!any) return false;
  for (Named& n : p.outputs) n.value = to[static_cast<size_t>(n.value)];
  return true;
}

bool drop_unread_results(Program& p) {
  std::vector<int32_t> uses = count_uses(p);
  bool any = false;
  for (Node& n : p.nodes) {
    const std::vector<std::string>& flags = n.op->optional_results;
    size_t result = n.out.size();  // after that of the flag
    for (size_t k = flags.size(); k-- > 0;) {
      if (!n.attrs.flag(flags[k])) continue;
      --result;
      if (uses[static_cast<size_t>(n.out[result])] > 0) continue;
      n.attrs.erase(flags[k]);
      n.out.erase(n.out.begin() + static_cast<std::ptrdiff_t>(result));
      any = true;
    }
  }
  return any;
}

}  // namespace

namespace {

Result<bool> simplify(Program& p, bool drop_results) {
  bool changed = false;
  p.renumber_producers();
  for (bool again = true; again;) {
    again = skip_identities(p);
    if (merge_equal_nodes(p)) again = true;
    if (remove_dead_nodes(p)) again = true;
    if (drop_results && drop_unread_results(p)) again = true;
    changed = changed || again;
  }
  return changed;
}

}  // namespace

Result<bool> simplify(Program& p) { return simplify(p, true); }
Result<bool> simplify_forward(Program& p) { return simplify(p, false); }

}  // namespace hone
