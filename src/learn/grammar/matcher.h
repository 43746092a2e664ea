// Matches a text against an Automaton byte by byte. The matcher follows all ways through the automaton at once: a way
// is a state with the stack of calls that are open (Thompson's simulation, with stacks). Each set of ways that occurs
// is kept as a state of a deterministic automaton, so most bytes cost one table look-up.
//   Matcher m(automaton);
//   int32_t at = m.state_of(m.begin());
//   at = m.next(at, '{');                   // Matcher::kDead: no text of the language begins this way
#pragma once

#include <array>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "learn/grammar/automaton.h"

namespace hone {

class Matcher {
 public:
  // `state` is a state of the Automaton. `frame` is the number of the frame (the open call) to which the rule of the
  // state returns; -1: the state is in the root rule. {-1, -1}: the text up to here is a text of the language.
  struct Way {
    int32_t state, frame;
    auto operator<=>(const Way&) const = default;
  };
  using Ways = std::vector<Way>;  // sorted; valid as long as the matcher, even after forget()
  static constexpr int32_t kDead = -1;

  explicit Matcher(std::shared_ptr<const Automaton> automaton);

  const Ways& begin() const { return begin_; }  // the ways before the first byte
  // The number of a set of ways, valid until forget(). kDead for the empty set.
  int32_t state_of(const Ways& ways);
  const Ways& ways(int32_t state) const { return states_[static_cast<size_t>(state)].ways; }
  // The number of the set after one more byte; kDead: no text of the language continues this way.
  int32_t next(int32_t state, uint8_t byte) {
    const auto& row = states_[static_cast<size_t>(state)].row;
    const int32_t known = row ? (*row)[byte] : kUnknown;
    return known != kUnknown ? known : find_next(state, byte);
  }
  // whole: the text up to here is a text of the language. over: the same, and no byte can follow.
  static bool whole(const Ways& w) { return !w.empty() && w.front().state < 0; }
  static bool over(const Ways& w) { return w.size() == 1 && whole(w); }

  size_t states() const { return states_.size(); }
  size_t frames() const { return frames_.size(); }
  // The number of ways that next() and state_of() have followed so far. It measures the time and memory that an
  // ambiguous language takes.
  int64_t work() const { return work_; }
  void forget();  // drops all kept sets, and so their numbers; keeps the frames

 private:
  static constexpr int32_t kUnknown = -2;
  // An open call: the state to continue at when the called rule ends, and the frame below this one (-1: none).
  struct Frame {
    int32_t to, below;
  };
  struct State {
    Ways ways;
    // Next state by byte; null until the first next().
    std::unique_ptr<std::array<int32_t, 256>> row;
  };
  int32_t find_next(int32_t state, uint8_t byte);
  int32_t frame(int32_t to, int32_t below);
  void reach(Way way, Ways& out);

  std::shared_ptr<const Automaton> automaton_;
  Ways begin_;
  std::vector<State> states_;
  std::unordered_map<std::string, int32_t> numbers_;  // the bytes of a set of ways -> its number
  std::vector<Frame> frames_;
  std::unordered_map<uint64_t, int32_t> frame_numbers_;
  int64_t work_ = 0;
  Ways queue_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace hone
