#include "engine/passes/offload_host.h"

#include <utility>

#include "engine/ops/ops.h"

namespace hone {

void HostUpdates::know(const Node& n) {
  if (!std::exchange(knows_states_, true))
    for (size_t s = 0; s < p_.states.size(); ++s)
      if (p_.states[s].next != kNoValue) state_of_[p_.states[s].next] = static_cast<int32_t>(s);
  for (ValueId v : n.out) {
    const auto state = state_of_.find(v);
    made_[v].state = state == state_of_.end() ? -1 : state->second;
  }
}

void HostUpdates::add(Node n, std::vector<Node> after) {
  know(n);
  for (const Node& other : after) know(other);
  if (lane_ == HostLane::apart) {
    for (ValueId v : n.in)
      if (v != kNoValue) host_copy(v);
    copied_.push_back({std::move(n), std::move(after)});
    advance(1);
    return;
  }
  after.insert(after.begin(), std::move(n));
  for (Node& one : after) {
    const Values results = one.out;
    issue(std::move(one));
    return_results(results);
    wait_for_returned(results);
  }
}

// Finished updates start their way back, and their readers start.
void HostUpdates::return_begun() {
  std::deque<Begun> done = std::exchange(issued_, {});
  for (Begun& update : done) {
    return_results(update.results);
    returned_.push_back(std::move(update.results));
    for (Node& n : update.after) {
      issued_.push_back({n.out, {}});
      issue(std::move(n));
    }
  }
}

// `left`: how many stay copied but not issued, and how many whose results are on their way.
void HostUpdates::advance(size_t left) {
  for (; copied_.size() > left; copied_.pop_front()) {
    return_begun();
    Update& next = copied_.front();
    issued_.push_back({next.node.out, std::move(next.after)});
    issue(std::move(next.node));
  }
  while (left == 0 && !issued_.empty()) return_begun();
  for (; returned_.size() > left; returned_.pop_front()) wait_for_returned(returned_.front());
}

void HostUpdates::finish() { advance(0); }

ValueId HostUpdates::host_copy(ValueId v) {
  if (p_.space(v) != Space::device || makes(v)) return v;
  Copied& c = copies_[v];
  if (c.copy == kNoValue) c.copy = ops::copy(b_, v, Space::host);
  return c.copy;
}

ValueId HostUpdates::waited(ValueId v) {
  ValueId& done = made_.at(v).waited;
  if (done == kNoValue) done = ops::wait(b_, v);
  return done;
}

void HostUpdates::issue(Node n) {
  n.lane = Lane::host_compute;
  for (ValueId& v : n.in) {
    if (v == kNoValue) continue;
    if (makes(v)) {
      v = waited(v);
    } else if (lane_ == HostLane::apart && p_.space(v) == Space::device) {
      Copied& c = copies_.at(v);
      if (c.done == kNoValue) c.done = ops::wait(b_, c.copy);
      v = c.done;
    }
  }
  const Values out = n.out;
  for (size_t k = 0; k < out.size(); ++k)
    p_.values[static_cast<size_t>(out[k])].space = result_space({p_, n}, k);
  p_.nodes.push_back(std::move(n));
}

void HostUpdates::return_results(const Values& results) {
  for (ValueId v : results) {
    Made& m = made_.at(v);
    if (m.state < 0) continue;
    State& s = p_.states[static_cast<size_t>(m.state)];
    const ValueId done = waited(v);
    // A value that is overwritten on the device leaves it after its stay (offload.cc).
    const bool on_device = lane_ == HostLane::one_place && p_.space(done) == Space::device;
    if (s.home == p_.space(done) || on_device)
      s.next = m.home = done;
    else
      m.back = ops::copy(b_, done, s.home);
  }
}

void HostUpdates::wait_for_returned(const Values& results) {
  for (ValueId v : results) {
    Made& m = made_.at(v);
    if (m.back == kNoValue) continue;
    m.home = ops::wait(b_, m.back);
    p_.states[static_cast<size_t>(m.state)].next = m.home;
  }
}

ValueId HostUpdates::on_device(ValueId v) {
  if (made_.at(v).home == kNoValue) finish();
  const ValueId home = made_.at(v).home;
  HONE_BUG_IF(home == kNoValue || p_.space(home) != Space::device,
              "%{}, which the host makes, is not on the device", v);
  return home;
}

}  // namespace hone
