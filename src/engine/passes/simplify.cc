#include "engine/passes/simplify.h"

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

void replace_uses(Program& p, ValueId from, ValueId to) {
  for (Node& n : p.nodes)
    for (ValueId& v : n.in)
      if (v == from) v = to;
  for (State& s : p.states)
    if (s.next == from) s.next = to;
  for (Named& n : p.outputs)
    if (n.value == from) n.value = to;
}

bool remove_dead_nodes(Program& p) {
  std::vector<int32_t> uses = count_uses(p);
  std::vector<bool> dead(p.nodes.size(), false);
  bool any = false;
  for (size_t i = p.nodes.size(); i-- > 0;) {
    bool used = false;
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
  const auto& all = p.nodes[static_cast<size_t>(at)].attrs.all();
  auto it = all.find("value");
  return it == all.end() ? nullptr : std::get_if<double>(&it->second);
}

// What the node's output 0 equals without the node, or kNoValue.
ValueId same_as(const Program& p, const Node& n) {
  const std::string& op = n.op->name;
  const Type& type = p.type(n.out[0]);
  auto keeps_type = [&](ValueId v) { return p.type(v) == type ? v : kNoValue; };
  if (op == "reshape") return keeps_type(n.in[0]);
  if (op != "mul" && op != "add") return kNoValue;
  const double neutral = op == "mul" ? 1.0 : 0.0;
  for (int k = 0; k < 2; ++k)
    if (const double* c = constant_of(p, n.in[static_cast<size_t>(1 - k)]); c && *c == neutral)
      return keeps_type(n.in[static_cast<size_t>(k)]);
  return kNoValue;
}

bool merge_equal_nodes(Program& p) {
  std::map<std::string, size_t> first;
  std::vector<ValueId> to(p.values.size());
  for (size_t v = 0; v < to.size(); ++v) to[v] = static_cast<ValueId>(v);
  bool any = false;
  // The new version of a state must stay a value of its own.
  std::vector<bool> pinned(p.values.size(), false);
  for (const State& s : p.states)
    if (s.next != kNoValue) pinned[static_cast<size_t>(s.next)] = true;
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    Node& n = p.nodes[i];
    for (ValueId& v : n.in)
      if (v != kNoValue) v = to[static_cast<size_t>(v)];
    bool keep = false;
    for (ValueId v : n.out) keep = keep || pinned[static_cast<size_t>(v)];
    if (keep) continue;
    std::string key = n.op->name + "(" + fmt::format("{}", fmt::join(n.in, ",")) + ")";
    for (const auto& [name, a] : n.attrs.all())
      key += name + "=" + std::visit([](const auto& x) { return fmt::format("{}", x); }, a) + ";";
    key += p.type(n.out[0]).text();
    auto [it, inserted] = first.emplace(std::move(key), i);
    if (inserted) continue;
    const Node& same = p.nodes[it->second];
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
    if (!n.attrs.flag("save_pre") || n.out.size() != 2 || uses[static_cast<size_t>(n.out[1])] > 0)
      continue;
    n.attrs.erase("save_pre");
    n.out.pop_back();
    any = true;
  }
  return any;
}

}  // namespace

Result<bool> simplify(Program& p) {
  bool changed = false;
  p.renumber_producers();
  for (bool again = true; again;) {
    again = false;
    std::vector<ValueId> pinned;
    for (const State& s : p.states) pinned.push_back(s.next);
    for (Node& n : p.nodes) {
      if (std::find(pinned.begin(), pinned.end(), n.out[0]) != pinned.end()) continue;
      ValueId v = same_as(p, n);
      if (v == kNoValue) continue;
      std::vector<int32_t> uses = count_uses(p);
      if (uses[static_cast<size_t>(n.out[0])] == 0) continue;
      replace_uses(p, n.out[0], v);
      again = true;
    }
    if (merge_equal_nodes(p)) again = true;
    if (remove_dead_nodes(p)) again = true;
    if (drop_unread_results(p)) again = true;
    changed = changed || again;
  }
  return changed;
}

}  // namespace hone
