#include "engine/passes/round_sums.h"

#include <algorithm>
#include <utility>

#include "engine/graph/op.h"

namespace hone {
namespace {

// Whether the node changes a type and nothing else.
bool is_plain_cast(const Node& n) { return n.op->name == "cast" && !n.attrs.flag("saturate"); }

class RoundSums {
 public:
  explicit RoundSums(Program& program) : p_(program), readers_(p_.values.size()) {
    p_.renumber_producers();
    for (size_t i = 0; i < p_.nodes.size(); ++i)
      for (const ValueId v : p_.nodes[i].in)
        if (v != kNoValue) readers_[at(v)].push_back(i);
    // A value that the program returns or keeps has a reader outside of the nodes.
    for (const Named& o : p_.outputs) readers_[at(o.value)].push_back(p_.nodes.size());
    for (const State& s : p_.states)
      if (s.next != kNoValue) readers_[at(s.next)].push_back(p_.nodes.size());
    gone_.resize(p_.nodes.size(), false);
  }

  bool run() {
    bool any = false;
    for (size_t i = 0; i < p_.nodes.size(); ++i) any |= round(i);
    size_t i = 0;
    std::erase_if(p_.nodes, [&](const Node&) { return gone_[i++]; });
    p_.renumber_producers();
    return any;
  }

 private:
  static size_t at(ValueId v) { return static_cast<size_t>(v); }
  bool has_one_reader(ValueId v, size_t reader) const {
    return readers_[at(v)].size() == 1 && readers_[at(v)][0] == reader;
  }

  bool round(size_t i) {
    Node& sum = p_.nodes[i];
    const NodeView view{p_, sum};
    if (sum.op->name != "scatter_add_rows" || !view.has("acc")) return false;
    const ValueId wide = view.input("acc"), made = sum.out[0];
    const int32_t widens = p_.values[at(wide)].node;
    if (widens < 0 || !is_plain_cast(p_.nodes[at(widens)]) || !has_one_reader(wide, i))
      return false;
    if (readers_[at(made)].size() != 1 || readers_[at(made)][0] >= p_.nodes.size()) return false;
    const size_t narrows = readers_[at(made)][0];
    const ValueId narrow = p_.nodes[at(widens)].in[0];
    const Node& rounds = p_.nodes[narrows];
    const bool is_narrow = size_of(p_.type(narrow).dtype) == 2;
    if (!is_narrow || !is_plain_cast(rounds) || p_.type(rounds.out[0]) != p_.type(narrow))
      return false;
    sum.in[view.slot("acc")] = narrow;
    sum.out[0] = rounds.out[0];
    gone_[at(widens)] = gone_[narrows] = true;
    return true;
  }

  Program& p_;
  std::vector<std::vector<size_t>> readers_;  // by value: nodes
  std::vector<bool> gone_;                    // by node
};

}  // namespace

Result<bool> round_sums(Program& p) { return RoundSums(p).run(); }

}  // namespace hone
