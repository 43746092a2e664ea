// Follows an Automaton over the bytes of a text: all ways at once, as a set of states with the calls
// that are open (Thompson's simulation with stacks). Sets that were met are kept as the states of a
// deterministic automaton, so that most bytes cost one look-up.
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
  // A state and the frame that its rule returns to; {-1, -1}: the text is whole.
  struct Way {
    int32_t state, frame;
    auto operator<=>(const Way&) const = default;
  };
  using Ways = std::vector<Way>;  // sorted; they stay valid for the life of the matcher
  static constexpr int32_t kDead = -1;

  explicit Matcher(std::shared_ptr<const Automaton> automaton);

  const Ways& begin() const { return begin_; }
  // The number of a set; numbers hold until forget().
  int32_t state_of(const Ways& ways);
  const Ways& ways(int32_t state) const { return states_[static_cast<size_t>(state)].ways; }
  int32_t next(int32_t state, uint8_t byte) {
    const auto& row = states_[static_cast<size_t>(state)].row;
    const int32_t known = row ? (*row)[byte] : kUnknown;
    return known != kUnknown ? known : find_next(state, byte);
  }
  static bool whole(const Ways& w) { return !w.empty() && w.front().state < 0; }
  static bool over(const Ways& w) { return w.size() == 1 && whole(w); }  // nothing can follow

  size_t states() const { return states_.size(); }
  size_t frames() const { return frames_.size(); }
  // Number of ways that next() and state_of() have followed: a measure of ambiguity's time and
  // memory.
  int64_t work() const { return work_; }
  void forget();  // the states, not the frames

 private:
  static constexpr int32_t kUnknown = -2;
  struct Frame {
    int32_t to, below;  // -1: none
  };
  struct State {
    Ways ways;
    std::unique_ptr<std::array<int32_t, 256>> row;  // by byte, once one was asked
  };
  int32_t find_next(int32_t state, uint8_t byte);
  int32_t frame(int32_t to, int32_t below);
  void reach(Way way, Ways& out);

  std::shared_ptr<const Automaton> automaton_;
  Ways begin_;
  std::vector<State> states_;
  std::unordered_map<std::string, int32_t> numbers_;  // by the bytes of the ways
  std::vector<Frame> frames_;
  std::unordered_map<uint64_t, int32_t> frame_numbers_;
  int64_t work_ = 0;
  Ways queue_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace hone
