// Views of values that a placement pass moves. After the pass, a moved value has different copies (bases) at different
// nodes. A view of a moved value is therefore emitted before the nodes that read the view, once for each base.
#pragma once

#include <utility>

#include "engine/graph/graph.h"

namespace hone {

class MovedViews {
 public:
  explicit MovedViews(Program& program)
      : p_(program), views_(program.values.size(), {kNoValue, kNoValue}) {}

  // The value that is view `v` of `base`; kNoValue: the last make() for `v` had another base, or make() was not called.
  ValueId of(ValueId v, ValueId base) const {
    const auto& [shown, view] = views_[static_cast<size_t>(v)];
    return shown == base ? view : kNoValue;
  }
  // Appends a copy of `node`, the node that makes view `v` in the old program. The copy makes the view from `operand`,
  // which is `base` or a view of `base`. Returns the copy's result: the first call for `v` returns `v`, later calls
  // return a new value (Node::clone).
  ValueId make(ValueId v, ValueId base, Node node, ValueId operand, Phase phase) {
    auto& [shown, view] = views_[static_cast<size_t>(v)];
    node.phase = phase;
    node.in[0] = operand;
    if (std::exchange(shown, base) != kNoValue) {
      node.clone = true;
      node.out[0] = p_.new_value(Type(p_.type(v)));
    }
    view = node.out[0];
    p_.nodes.push_back(std::move(node));
    return view;
  }

 private:
  Program& p_;
  std::vector<std::pair<ValueId, ValueId>> views_;  // for each view: its last base, and its result
};

}  // namespace hone
