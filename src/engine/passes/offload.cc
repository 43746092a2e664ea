#include "engine/passes/offload.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <utility>

#include "engine/ops/ops.h"
#include "engine/passes/moved_views.h"
#include "engine/passes/offload_host.h"
#include "engine/plan/buffers.h"

namespace hone {
namespace {

size_t index_of(ValueId v) { return static_cast<size_t>(v); }

// Nodes during which a value is on the device.
struct Stay {
  ValueId root = kNoValue;
  size_t begin = 0, end = 0;
  bool comes = false;   // a node reads it, and it was elsewhere
  bool leaves = false;  // it was made or written, and is wanted later
};

// Stays that begin at one node.
struct Group {
  size_t begin = 0;
  std::vector<Stay> stays;
};

class Offloading {
 public:
  Offloading(Program& program, const Offload& to)
      : p(program), to_(to), b_(program), host_(program, b_, to.host_lane), views_(program) {
    const size_t values = p.values.size();
    root_.resize(values);
    for (size_t v = 0; v < values; ++v) root_[v] = static_cast<ValueId>(v);
    home_.assign(values, Space::device);
    state_.assign(values, -1);
    uses_.resize(values);
    here_.assign(values, kNoValue);
    coming_ = away_ = here_;
  }

  bool run() {
    find_uses();
    choose();
    if (!any_) return false;
    find_host_nodes();
    for (State& s : p.states)
      if (home_[index_of(s.value)] != Space::device) {
        HONE_BUG_IF(s.home != Space::device, "'{}' has left the device before", s.name);
        s.home = p.values[index_of(s.value)].space = home_[index_of(s.value)];
      }
    find_stays();
    rewrite();
    return true;
  }

 private:
  // The nodes that make or read each root, views left out: their readers count.
  void find_uses() {
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      const Node& n = p.nodes[i];
      if (waits_for_ranks(p, n)) {  // until which the collective reads and writes
        const int32_t begun = p.values[index_of(n.in[0])].node;
        for (ValueId v : p.nodes[static_cast<size_t>(begun)].in) use(root_[index_of(v)], i);
      }
      if (is_view(p, n)) {
        root_[index_of(n.out[0])] = root_[index_of(n.in[0])];
        continue;
      }
      for (ValueId v : n.in)
        if (v != kNoValue) use(root_[index_of(v)], i);
      for (ValueId v : n.out) use(v, i);
    }
  }
  void use(ValueId root, size_t node) {
    std::vector<size_t>& of = uses_[index_of(root)];
    if (of.empty() || of.back() != node) of.push_back(node);
  }

  bool is_large(ValueId v) const { return p.type(v).count() >= to_.least_elements; }

  // Chooses the place of each root.
  void choose() {
    std::vector<bool> stays(p.values.size(),
                            false);  // outputs, inputs, new versions, parts of chains
    for (const Named& n : p.inputs) stays[index_of(n.value)] = true;
    for (const Named& n : p.outputs) stays[index_of(root_[index_of(n.value)])] = true;
    for (size_t s = 0; s < p.states.size(); ++s) {
      const State& state = p.states[s];
      stays[index_of(state.value)] = true;
      if (state.next != kNoValue) stays[index_of(root_[index_of(state.next)])] = true;
      const Space home = to_.home(state, p.type(state.value));
      if (home == Space::device) continue;
      any_ = true;
      home_[index_of(state.value)] = home;
      state_[index_of(state.value)] = static_cast<int32_t>(s);
    }
    if (to_.gradients == Space::device && to_.activations == Space::device) return;
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      const Node& n = p.nodes[i];
      if (is_view(p, n) || is_begun(n) || n.op->waits) continue;
      for (ValueId v : n.out) {
        if (stays[index_of(v)] || !is_large(v) || !has_gap(v)) continue;
        const Phase last = p.nodes[uses_[index_of(v)].back()].phase;
        if (n.phase == Phase::forward && last == Phase::backward)
          home_[index_of(v)] = to_.activations;
        else if (n.phase == Phase::backward && last == Phase::update)
          home_[index_of(v)] = to_.gradients;
        any_ = any_ || home_[index_of(v)] != Space::device;
      }
    }
  }
  // Updates that the host does: every optimizer state that they read is on the host, and nothing
  // else reads it. They read it in place. A device with kernels of its own sums in another order
  // than the host, so rules that sum stay there; the others have the same bits.
  void find_host_nodes() {
    on_host_.assign(p.nodes.size(), false);
    follows_ = on_host_;
    used_at_home_.assign(p.values.size(), false);
    if (to_.host_lane == HostLane::none || to_.moments != Space::host) return;
    const std::vector<bool> sent = sent_by();
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      const Node& n = p.nodes[i];
      if (is_view(p, n) || is_begun(n) || sent[i]) continue;
      const bool by_element = n.op->attr("rows") != nullptr;  // ops/update_parts.h
      if (to_.host_lane == HostLane::apart && !by_element) continue;
      bool reads_moments = false, alone = true;
      for (ValueId v : n.in) {
        if (v == kNoValue || !is_moment(root_[index_of(v)])) continue;
        reads_moments = true;
        alone = alone && home_[index_of(v)] == Space::host && v == root_[index_of(v)] &&
                uses_[index_of(v)] == std::vector<size_t>{i};
      }
      on_host_[i] = reads_moments && alone;
      if (!on_host_[i]) continue;
      for (ValueId v : n.in) {
        if (v == kNoValue || v != root_[index_of(v)] || home_[index_of(v)] != Space::host) continue;
        used_at_home_[index_of(v)] = true;
        std::erase(uses_[index_of(v)], i);
      }
    }
    find_followers();
  }
  // By node: whether it is before a collective that reads its results, or what is made of them. The
  // device has these.
  std::vector<bool> sent_by() const {
    std::vector<bool> sent(p.nodes.size(), false), read(p.values.size(), false);
    for (size_t i = p.nodes.size(); i-- > 0;) {
      const Node& n = p.nodes[i];
      sent[i] = n.lane == Lane::comm || std::any_of(n.out.begin(), n.out.end(),
                                                    [&](ValueId v) { return read[index_of(v)]; });
      if (!sent[i]) continue;
      for (ValueId v : n.in)
        if (v != kNoValue) read[index_of(v)] = true;
    }
    return sent;
  }
  // Casts of what such an update makes, to states: the host makes them too.
  void find_followers() {
    std::set<ValueId> next;
    for (const State& s : p.states)
      if (s.next != kNoValue) next.insert(s.next);
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      const Node& n = p.nodes[i];
      if (n.op->name != "cast" || !next.contains(n.out[0])) continue;
      const int32_t maker = p.values[index_of(n.in[0])].node;
      if (maker < 0 || !on_host_[static_cast<size_t>(maker)]) continue;
      followers_[static_cast<size_t>(maker)].push_back(i);
      follows_[i] = on_host_[i] = true;
    }
  }
  bool is_moment(ValueId root) const {
    const int32_t s = state_[index_of(root)];
    return s >= 0 && p.states[static_cast<size_t>(s)].role == Role::moment;
  }
  bool has_gap(ValueId root) const {
    const std::vector<size_t>& of = uses_[index_of(root)];
    for (size_t k = 1; k < of.size(); ++k)
      if (of[k] - of[k - 1] > kStayGap) return true;
    return false;
  }

  void find_stays() {
    std::map<size_t, Group> groups;
    leaving_.resize(p.nodes.size());
    for (size_t v = 0; v < home_.size(); ++v) {
      if (home_[v] == Space::device) continue;
      std::vector<size_t> uses = std::exchange(uses_[v], {});
      const bool is_state = state_[v] >= 0;
      size_t written = std::numeric_limits<size_t>::max();  // the node that makes the new version
      if (is_state) {
        const State& s = p.states[static_cast<size_t>(state_[v])];
        if (s.next != kNoValue) {
          written = static_cast<size_t>(p.values[index_of(s.next)].node);
          if (on_host_[written] && home_[v] == Space::host)
            written = std::numeric_limits<size_t>::max();  // at home
          else if (uses.empty() || uses.back() < written)
            uses.push_back(written);
        }
      }
      // Moments have one stay: their uses are those of one update.
      const bool one = is_moment(static_cast<ValueId>(v));
      for (size_t k = 0; k < uses.size();) {
        Stay stay{static_cast<ValueId>(v), uses[k], uses[k], false, false};
        const bool made = !is_state && k == 0;
        for (; k < uses.size() && (one || uses[k] - stay.end <= kStayGap); ++k) {
          stay.end = uses[k];
          stay.comes |= !made && reads(uses[k], static_cast<ValueId>(v));
        }
        stay.leaves = is_state ? stay.begin <= written && written <= stay.end
                               : made && (k < uses.size() || used_at_home_[v]);
        if (stay.leaves) leaving_[stay.end].push_back(stay.root);
        if (made) continue;
        Group& g = groups[stay.begin];
        g.begin = stay.begin;
        g.stays.push_back(stay);
      }
    }
    for (auto& [begin, group] : groups) groups_.push_back(std::move(group));
  }
  bool reads(size_t node, ValueId root) const {
    const std::vector<ValueId>& in = p.nodes[node].in;
    return std::any_of(in.begin(), in.end(),
                       [&](ValueId v) { return v != kNoValue && root_[index_of(v)] == root; });
  }

  void rewrite() {
    std::vector<Node> nodes = std::exchange(p.nodes, {});
    old_ = &nodes;
    // The first stays are prepared while the nodes before theirs, of the same phase, compute.
    size_t head = groups_.empty() ? nodes.size() : groups_[0].begin;
    while (head > 0 && head < nodes.size() && nodes[head - 1].phase == nodes[head].phase) --head;
    size_t next = 0;  // the group whose first node comes next
    for (size_t i = 0; i < nodes.size(); ++i) {
      b_.set_scope(nodes[i].scope);
      b_.set_phase(nodes[i].phase);
      if (i == head) prepare(0);
      if (next < groups_.size() && i == groups_[next].begin) {
        while (!written_.empty() && written_.front().second + 2 <= next) finish_written();
        if (is_near(next + 1, i)) prepare(next + 1);
        receive(next++);
      }
      if (is_near(next, i)) prepare(next);
      if (is_view(p, nodes[i]) &&
          home_[index_of(root_[index_of(nodes[i].out[0])])] != Space::device)
        continue;  // made where it is read
      Node n = nodes[i];
      for (ValueId& v : n.in)
        if (v != kNoValue && !follows_[i]) v = on_host_[i] ? on_host_now(v) : now(v);
      if (!on_host_[i]) {
        p.nodes.push_back(std::move(n));
      } else if (!follows_[i]) {
        std::vector<Node> after;
        for (const size_t k : followers_[i]) after.push_back(nodes[k]);
        host_.add(std::move(n), std::move(after));
      }
      for (ValueId v : nodes[i].out)
        if (home_[index_of(v)] != Space::device) here_[index_of(v)] = v;
      for (ValueId root : leaving_[i])
        if (is_state(root) && on_host_[i] && to_.host_lane == HostLane::apart)
          continue;  // from the host
        else if (is_state(root))
          take_back(root, next - 1);
        else
          send(root);
    }
    host_.finish();
    while (!written_.empty()) finish_written();
    while (!sent_.empty()) finish_sent();
    p.renumber_producers();
  }

  // The current value of v on the device.
  ValueId now(ValueId v) {
    if (index_of(v) >= root_.size()) return v;
    if (host_.makes(v)) return host_.on_device(v);
    const ValueId root = root_[index_of(v)];
    if (home_[index_of(root)] == Space::device) return v;
    const ValueId base = here_[index_of(root)];
    if (v == root) return base;
    if (const ValueId view = views_.of(v, base); view != kNoValue) return view;
    const Node& made = (*old_)[static_cast<size_t>(p.values[index_of(v)].node)];
    const ValueId operand = now(made.in[0]);
    return views_.make(v, base, made, operand, b_.phase());
  }

  // The value of v that an update by the host reads: at home, the result of an earlier update, or
  // on the device.
  ValueId on_host_now(ValueId v) {
    if (host_.makes(v)) return v;
    if (v != root_[index_of(v)] || home_[index_of(v)] != Space::host) return now(v);
    if (is_state(v)) return v;
    while (std::find(sent_.begin(), sent_.end(), v) != sent_.end()) finish_sent();
    return away_[index_of(v)];
  }

  bool is_state(ValueId root) const { return state_[index_of(root)] >= 0; }
  State& state(ValueId root) { return p.states[static_cast<size_t>(state_[index_of(root)])]; }

  // States of an update do not come while the backward pass still holds its values.
  bool is_near(size_t g, size_t node) const {
    if (g >= groups_.size() || groups_[g].begin > node + kStayGap) return false;
    const Phase begins = (*old_)[groups_[g].begin].phase;
    return begins != Phase::update || begins == (*old_)[node].phase;
  }
  // Starts loading values that the group needs and that are not loading yet.
  void prepare(size_t g) {
    if (g >= groups_.size()) return;
    for (const Stay& s : groups_[g].stays)
      if (s.comes && coming_[index_of(s.root)] == kNoValue &&
          (is_state(s.root) || away_[index_of(s.root)] != kNoValue))
        bring(s.root);
  }
  void bring(ValueId root) {
    while (!is_state(root) && std::find(sent_.begin(), sent_.end(), root) != sent_.end())
      finish_sent();
    coming_[index_of(root)] =
        ops::copy(b_, is_state(root) ? root : away_[index_of(root)], Space::device);
  }
  void receive(size_t g) {
    for (const Stay& s : groups_[g].stays) {
      if (!s.comes) continue;
      if (coming_[index_of(s.root)] == kNoValue) bring(s.root);
      here_[index_of(s.root)] = ops::wait(b_, std::exchange(coming_[index_of(s.root)], kNoValue));
    }
  }
  // New versions of states: done when the stay after the next one begins.
  void take_back(ValueId root, size_t group) {
    state(root).next = ops::copy(b_, state(root).next, home_[index_of(root)]);
    written_.emplace_back(root, group);
  }
  void finish_written() {
    ValueId& next = state(written_.front().first).next;
    next = ops::wait(b_, next);
    written_.pop_front();
  }
  // Values that were made on the device: two are on their way at most.
  void send(ValueId root) {
    if (sent_.size() == 2) finish_sent();
    away_[index_of(root)] = ops::copy(b_, root, home_[index_of(root)]);
    sent_.push_back(root);
  }
  void finish_sent() {
    ValueId& away = away_[index_of(sent_.front())];
    away = ops::wait(b_, away);
    sent_.pop_front();
  }

  Program& p;
  const Offload to_;
  Builder b_;
  HostUpdates host_;
  const std::vector<Node>* old_ = nullptr;
  bool any_ = false;
  std::vector<Group> groups_;
  std::vector<std::vector<ValueId>> leaving_;       // by node: after it
  std::deque<ValueId> sent_;                        // on their way to their home
  std::deque<std::pair<ValueId, size_t>> written_;  // new versions that are, and in which group
  // By value of the program before:
  std::vector<ValueId> root_;  // whose storage a view shows
  std::vector<Space> home_;
  std::vector<int32_t> state_;  // index in Program::states of those that leave, or -1
  std::vector<std::vector<size_t>> uses_;
  std::vector<bool> used_at_home_;                   // by an update by the host
  std::vector<bool> on_host_;                        // by node: such an update, or what follows one
  std::vector<bool> follows_;                        // by node
  std::map<size_t, std::vector<size_t>> followers_;  // by such an update
  std::vector<ValueId> here_, coming_, away_;        // on the device, on the way, at home
  MovedViews views_;
};

}  // namespace

Space Offload::home(const State& state, const Type& type) const {
  Space home = Space::device;
  const bool is_large = type.count() >= least_elements;
  if (state.role == Role::moment) home = moments;
  if (state.role == Role::param && is_large) home = masters != Space::device ? masters : params;
  if (state.role == Role::copy && is_large) home = params;
  if (state.role == Role::grad && is_large) home = gradients;
  if (home == Space::device) return home;
  const auto own = homes.find(state.name);
  return own == homes.end() ? home : own->second;
}

Result<bool> offload(Program& p, const Offload& to) {
  p.renumber_producers();
  return to.any() && Offloading(p, to).run();
}

}  // namespace hone
