#include "engine/passes/offload.h"

#include <algorithm>
#include <utility>

#include "engine/ops/ops.h"

namespace hone {
namespace {

// Moments that are first used by one node, from it to the last node that uses one of them.
struct Group {
  size_t begin = 0, end = 0;
  std::vector<size_t> read, written;  // indices in Program::states
  bool going_home = false;            // what is written is being copied back
};

// In the order of their first nodes.
std::vector<Group> groups_of(const Program& p) {
  std::map<ValueId, size_t> moment;  // by old version
  for (size_t s = 0; s < p.states.size(); ++s)
    if (p.states[s].role == Role::moment) moment[p.states[s].value] = s;
  std::map<size_t, std::pair<size_t, size_t>> uses;  // by state: first and last node
  const auto use = [&](size_t state, size_t node) {
    auto [it, fresh] = uses.try_emplace(state, node, node);
    it->second = {std::min(it->second.first, node), std::max(it->second.second, node)};
  };
  std::vector<bool> is_read(p.states.size(), false);
  for (size_t i = 0; i < p.nodes.size(); ++i)
    for (ValueId v : p.nodes[i].in)
      if (const auto m = moment.find(v); m != moment.end()) {
        use(m->second, i);
        is_read[m->second] = true;
      }
  for (const auto& [value, s] : moment)
    if (const ValueId next = p.states[s].next; next != kNoValue)
      use(s, static_cast<size_t>(p.values[static_cast<size_t>(next)].node));
  std::map<size_t, Group> groups;
  for (const auto& [s, nodes] : uses) {
    Group& g = groups[nodes.first];
    g.begin = nodes.first;
    g.end = std::max(g.end, nodes.second);
    if (is_read[s]) g.read.push_back(s);
    if (p.states[s].next != kNoValue) g.written.push_back(s);
  }
  std::vector<Group> list;
  for (auto& [node, group] : groups) list.push_back(std::move(group));
  return list;
}

class Offloading {
 public:
  Offloading(Program& program, Space home)
      : p(program),
        home_(home),
        b_(program),
        groups_(groups_of(p)),
        on_the_way_(p.values.size(), kNoValue),
        here_(on_the_way_) {}

  void run() {
    if (groups_.empty()) return;
    std::vector<Node> nodes = std::exchange(p.nodes, {});
    // The first moments are brought while the node before theirs, of the same phase, compute.
    size_t head = groups_[0].begin;
    while (head > 0 && nodes[head - 1].phase == nodes[head].phase) --head;
    std::multimap<size_t, size_t> ending;  // groups by their last node
    for (size_t g = 0; g < groups_.size(); ++g) ending.emplace(groups_[g].end, g);
    size_t next = 0;  // the group whose first node comes next
    for (size_t i = 0; i < nodes.size(); ++i) {
      b_.set_scope(nodes[i].scope);
      b_.set_phase(nodes[i].phase);
      if (i == head) bring(0);
      if (next < groups_.size() && i == groups_[next].begin) {
        if (next >= 2) finish(next - 2);
        bring(next + 1);
        receive(next++);
      }
      Node& n = p.nodes.emplace_back(std::move(nodes[i]));
      for (ValueId& v : n.in)
        if (v != kNoValue && here_[static_cast<size_t>(v)] != kNoValue)
          v = here_[static_cast<size_t>(v)];
      for (auto [at, end] = ending.equal_range(i); at != end; ++at) take_back(at->second);
    }
    for (size_t g = 0; g < groups_.size(); ++g) finish(g);
    p.renumber_producers();
  }

 private:
  State& state(size_t s) { return p.states[s]; }
  ValueId& way(ValueId v) { return on_the_way_[static_cast<size_t>(v)]; }

  void bring(size_t g) {
    if (g == groups_.size()) return;
    for (size_t s : groups_[g].read)
      way(state(s).value) = ops::copy(b_, state(s).value, Space::device);
  }
  void receive(size_t g) {
    for (size_t s : groups_[g].read)
      here_[static_cast<size_t>(state(s).value)] = ops::wait(b_, way(state(s).value));
  }
  void take_back(size_t g) {
    groups_[g].going_home = true;
    for (size_t s : groups_[g].written) state(s).next = ops::copy(b_, state(s).next, home_);
  }
  void finish(size_t g) {
    if (!std::exchange(groups_[g].going_home, false)) return;
    for (size_t s : groups_[g].written) state(s).next = ops::wait(b_, state(s).next);
  }

  Program& p;
  Space home_;
  Builder b_;
  std::vector<Group> groups_;
  std::vector<ValueId> on_the_way_, here_;  // by old version: its copy, the wait for it
};

}  // namespace

Result<bool> offload(Program& p, Space home) {
  HONE_BUG_IF(home == Space::device, "optimizer states leave the device for the device");
  bool any = false;
  for (State& s : p.states) {
    if (s.role != Role::moment) continue;
    HONE_BUG_IF(s.home != Space::device, "'{}' has left the device before", s.name);
    s.home = p.values[static_cast<size_t>(s.value)].space = home;
    any = true;
  }
  if (any) Offloading(p, home).run();
  return any;
}

}  // namespace hone
