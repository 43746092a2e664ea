#include "learn/grammar/automaton.h"

#include <algorithm>
#include <utility>

namespace hone {

int32_t Automaton::add_state() {
  states_.emplace_back();
  return static_cast<int32_t>(states_.size()) - 1;
}

Automaton::Rule Automaton::add_rule() {
  const int32_t start = add_state(), end = add_state();
  states_.back().ends = true;
  rules_.push_back({static_cast<int32_t>(rules_.size()), start, end});
  return rules_.back();
}

void Automaton::byte(int32_t from, uint8_t first, uint8_t last, int32_t to) {
  states_[static_cast<size_t>(from)].bytes.push_back({first, last, to});
}

void Automaton::free(int32_t from, int32_t to) {
  states_[static_cast<size_t>(from)].free.push_back(to);
}

void Automaton::call(int32_t from, int32_t rule, int32_t to) {
  states_[static_cast<size_t>(from)].calls.push_back({rule, to});
}

int32_t Automaton::text(int32_t from, std::string_view text) {
  for (const char c : text) {
    const int32_t to = add_state();
    byte(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), to);
    from = to;
  }
  return from;
}

// Marks the states from which their rule can end, until nothing changes: a call counts once its rule
// can end.
void Automaton::remove_dead_ways() {
  std::vector<std::vector<int32_t>> before(states_.size());  // by edge, with or without a byte
  std::vector<std::vector<int32_t>> callers(rules_.size());
  std::vector<int32_t> owner(states_.size(), -1);  // the rule that a state starts
  for (const Rule& r : rules_) owner[static_cast<size_t>(r.start)] = r.number;
  std::vector<int32_t> queue;
  std::vector<uint8_t> alive(states_.size(), 0);
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto from = static_cast<int32_t>(i);
    for (const ByteEdge& e : states_[i].bytes) before[static_cast<size_t>(e.to)].push_back(from);
    for (const int32_t to : states_[i].free) before[static_cast<size_t>(to)].push_back(from);
    for (const Call& c : states_[i].calls) {
      before[static_cast<size_t>(c.to)].push_back(from);
      callers[static_cast<size_t>(c.rule)].push_back(from);
    }
    if (states_[i].ends) queue.push_back(from);
  }
  const auto is_alive = [&](int32_t state) { return alive[static_cast<size_t>(state)] != 0; };
  const auto can_end = [&](const State& s) {
    return s.ends ||
           std::any_of(s.bytes.begin(), s.bytes.end(), [&](auto& e) { return is_alive(e.to); }) ||
           std::any_of(s.free.begin(), s.free.end(), is_alive) ||
           std::any_of(s.calls.begin(), s.calls.end(), [&](const Call& c) {
             return is_alive(c.to) && is_alive(rule(c.rule).start);
           });
  };
  while (!queue.empty()) {
    const auto at = static_cast<size_t>(queue.back());
    queue.pop_back();
    if (alive[at] != 0 || !can_end(states_[at])) continue;
    alive[at] = 1;
    queue.insert(queue.end(), before[at].begin(), before[at].end());
    if (owner[at] < 0) continue;
    const auto& waiting = callers[static_cast<size_t>(owner[at])];
    queue.insert(queue.end(), waiting.begin(), waiting.end());
  }
  for (State& s : states_) {
    std::erase_if(s.bytes, [&](const ByteEdge& e) { return !is_alive(e.to); });
    std::erase_if(s.free, [&](int32_t to) { return !is_alive(to); });
    std::erase_if(s.calls,
                  [&](const Call& c) { return !is_alive(c.to) || !is_alive(rule(c.rule).start); });
  }
}

// The rules that a rule may call before its first byte. `seen_by`: the last rule that saw a state.
std::vector<int32_t> Automaton::first_calls(int32_t number, std::vector<int32_t>& seen_by) const {
  std::vector<int32_t> queue{rule(number).start}, calls;
  while (!queue.empty()) {
    const State& s = state(queue.back());
    queue.pop_back();
    for (const Call& c : s.calls) calls.push_back(c.rule);
    for (const int32_t to : s.free)
      if (std::exchange(seen_by[static_cast<size_t>(to)], number) != number) queue.push_back(to);
  }
  return calls;
}

bool Automaton::begins_with_itself() const {
  // Removes rules whose first calls are all removed; what is left has a circle.
  std::vector<size_t> open(rules_.size());
  std::vector<std::vector<int32_t>> callers(rules_.size());
  std::vector<int32_t> done, seen_by(states_.size(), -1);
  for (const Rule& r : rules_) {
    const std::vector<int32_t> calls = first_calls(r.number, seen_by);
    open[static_cast<size_t>(r.number)] = calls.size();
    for (const int32_t c : calls) callers[static_cast<size_t>(c)].push_back(r.number);
    if (calls.empty()) done.push_back(r.number);
  }
  size_t removed = 0;
  for (; !done.empty(); ++removed) {
    const auto at = static_cast<size_t>(done.back());
    done.pop_back();
    for (const int32_t r : callers[at])
      if (--open[static_cast<size_t>(r)] == 0) done.push_back(r);
  }
  return removed < rules_.size();
}

std::optional<Automaton::Fault> Automaton::finish(int32_t root) {
  root_ = root;
  remove_dead_ways();
  const State& start = state(rule(root).start);
  if (start.bytes.empty() && start.free.empty() && start.calls.empty()) return Fault::no_text;
  if (begins_with_itself()) return Fault::endless;
  return std::nullopt;
}

}  // namespace hone
