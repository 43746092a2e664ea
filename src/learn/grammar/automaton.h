// A language of texts as a pushdown automaton over bytes. It consists of rules; a rule is a graph of states from its
// start to its end. An edge from one state to another takes a byte, takes nothing (a free edge), or takes a whole text
// of a rule (a call). Rules may call themselves.
//   Automaton a;
//   const Automaton::Rule list = a.add_rule();        // list = "[" [list] "]"
//   const int32_t open = a.text(list.start, "[");
//   a.call(open, list.number, a.add_state());         // and so on
//   if (auto fault = a.finish(list.number)) ...       // after finish(), do not add anything
// No rule may accept the empty text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

class Automaton {
 public:
  // States and rules are numbered from 0. `to` is the number of the state after an edge.
  struct ByteEdge {
    uint8_t first, last;  // takes any byte from `first` to `last`, inclusive
    int32_t to;
  };
  struct Call {
    int32_t rule, to;
  };
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<int32_t> free;  // the states that free edges lead to
    std::vector<Call> calls;
    bool ends = false;  // this is the end of a rule
  };
  struct Rule {
    int32_t number, start, end;  // the number of the rule; its first and last state
  };

  static constexpr size_t kMostStates = 1 << 16;

  int32_t add_state();
  Rule add_rule();
  const Rule& rule(int32_t number) const { return rules_[static_cast<size_t>(number)]; }
  // True if there are more states than kMostStates. Adding more states does not fail, so code that builds an automaton
  // should check full() after each part.
  bool full() const { return states_.size() > kMostStates; }

  // Add an edge from state `from` to state `to`.
  void byte(int32_t from, uint8_t first, uint8_t last, int32_t to);
  void free(int32_t from, int32_t to);
  void call(int32_t from, int32_t rule, int32_t to);
  // Adds states and edges for the bytes of `text`, and returns the state after them.
  int32_t text(int32_t from, std::string_view text);

  // no_text: the language is empty. endless: a rule can call itself before it takes a byte (left recursion).
  enum class Fault { no_text, endless };
  // Makes rule `root` the language, removes states and edges from which no text can end, and checks the automaton.
  // Returns the fault; none if the automaton can be used.
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
