// Views of values that a pass moves: a view is made where it is read, of the value that is there then,
// and again when another value takes its place.
#pragma once

#include <utility>

#include "engine/graph/graph.h"

namespace hone {

class MovedViews {
 public:
  explicit MovedViews(Program& program)
      : p_(program), views_(program.values.size(), {kNoValue, kNoValue}) {}

  // The view `v` of `base`; kNoValue: it must be made.
  ValueId of(ValueId v, ValueId base) const {
    const auto& [shown, view] = views_[static_cast<size_t>(v)];
    return shown == base ? view : kNoValue;
  }
  // Appends `node`, which made `v`, as a view of `base`, whose present value or view is `operand`.
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
  std::vector<std::pair<ValueId, ValueId>> views_;  // by value: of what, and the view
};

}  // namespace hone
