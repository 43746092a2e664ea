// wait(x) = x, the result of a copy, which is done from here on; a view.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_wait(const NodeView& n) { return Types{n.in(0)}; }

Values grad_wait(Builder&, const NodeView&, const Values& d) { return d; }

int64_t wait_offset(const NodeView&) { return 0; }

}  // namespace

Op define_wait() {
  return {.name = "wait",
          .operands = {"x"},
          .infer = infer_wait,
          .grad = grad_wait,
          .cost = free_of_charge,
          .view_offset = wait_offset,
          .waits = true};
}

ValueId ops::wait(Builder& b, ValueId x) { return b.emit1("wait", {x}); }

}  // namespace hone
