#include "engine/passes/round_sums.h"

#include <algorithm>
#include <utility>

#include "engine/graph/op.h"
#include "engine/passes/simplify.h"

namespace hone {
namespace {

// Whether the node changes a type and nothing else.
bool is_plain_cast(const Node& n) { return n.op->name == "cast" && !n.attrs.flag("saturate"); }

class RoundSums {
 public:
  explicit RoundSums(Program& program)
      : p_(program),
        uses_(count_uses(program)),
        reader_(program.values.size(), -1),
        gone_(program.nodes.size(), false) {
    p_.renumber_producers();
    for (size_t i = 0; i < p_.nodes.size(); ++i)
      for (const ValueId v : p_.nodes[i].in)
        if (v != kNoValue) reader_[at(v)] = static_cast<int32_t>(i);
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
  // The node that alone uses the value; -1: there is none.
  int32_t only_reader(ValueId v) const { return uses_[at(v)] == 1 ? reader_[at(v)] : -1; }

  bool round(size_t i) {
    Node& sum = p_.nodes[i];
    const NodeView view{p_, sum};
    if (sum.op->name != "scatter_add_rows" || !view.has("acc")) return false;
    const ValueId wide = view.input("acc"), made = sum.out[0];
    const int32_t widens = p_.values[at(wide)].node;
    const int32_t narrows = only_reader(made);
    if (widens < 0 || narrows < 0 || !is_plain_cast(p_.nodes[at(widens)]) || only_reader(wide) < 0)
      return false;
    const ValueId narrow = p_.nodes[at(widens)].in[0];
    const Node& rounds = p_.nodes[at(narrows)];
    const bool is_narrow = size_of(p_.type(narrow).dtype) == 2;
    if (!is_narrow || !is_plain_cast(rounds) || p_.type(rounds.out[0]) != p_.type(narrow))
      return false;
    sum.in[view.slot("acc")] = narrow;
    sum.out[0] = rounds.out[0];
    gone_[at(widens)] = gone_[at(narrows)] = true;
    return true;
  }

  Program& p_;
  const std::vector<int32_t> uses_;  // by value: nodes, outputs and states that take it
  std::vector<int32_t> reader_;      // by value: the last node that reads it
  std::vector<bool> gone_;           // by node
};

}  // namespace

Result<bool> round_sums(Program& p) { return RoundSums(p).run(); }

}  // namespace hone
