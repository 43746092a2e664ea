// A language as a pushdown automaton over bytes: rules of states. A state continues by a byte,
// without one, or after a whole text of another rule, which may call itself again.
//   Automaton a;
//   const Automaton::Rule list = a.add_rule();        // list = "[" [list] "]"
//   const int32_t open = a.text(list.start, "[");
//   a.call(open, list.number, a.add_state());         // and so on
//   if (auto fault = a.finish(list.number)) ...       // then it is read-only
// No rule may have the empty text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

class Automaton {
 public:
  struct ByteEdge {
    uint8_t first, last;  // both inside
    int32_t to;
  };
  struct Call {
    int32_t rule, to;
  };
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<int32_t> free;  // states that are reached without a byte
    std::vector<Call> calls;
    bool ends = false;  // a text of the rule ends here
  };
  struct Rule {
    int32_t number, start, end;
  };

  static constexpr size_t kMostStates = 1 << 16;

  int32_t add_state();
  Rule add_rule();
  const Rule& rule(int32_t number) const { return rules_[static_cast<size_t>(number)]; }
  // True if there are more states than kMostStates. Builders check it after each part of a
  // language.
  bool full() const { return states_.size() > kMostStates; }

  void byte(int32_t from, uint8_t first, uint8_t last, int32_t to);
  void free(int32_t from, int32_t to);
  void call(int32_t from, int32_t rule, int32_t to);
  // The state after the bytes of `text`.
  int32_t text(int32_t from, std::string_view text);

  enum class Fault { no_text, endless };  // it has no text; a rule begins with itself
  // Removes the ways that lead to no text, and checks the automaton from the rule `root`.
  std::optional<Fault> finish(int32_t root);
  int32_t root() const { return root_; }
  const State& state(int32_t number) const { return states_[static_cast<size_t>(number)]; }

 private:
  void remove_dead_ways();
  bool begins_with_itself() const;
  std::vector<int32_t> first_calls(int32_t rule, std::vector<int32_t>& seen_by) const;

  std::vector<State> states_;
  std::vector<Rule> rules_;
  int32_t root_ = -1;
};

}  // namespace hone
