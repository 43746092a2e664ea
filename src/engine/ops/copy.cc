// copy(x) {to} = x in another space. It begins when compute reaches it; wait says when it is done.
// Not the work of a kernel: a queue of the device does it.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_copy(const NodeView& n) { return Types{n.in(0)}; }

}  // namespace

Op define_copy() {
  return {.name = "copy",
          .operands = {"x"},
          .attrs = {required("to", "", {"device", "host", "disk"})},
          .infer = infer_copy,
          .cost = free_of_charge,  // beside the computation
          .copies = true};
}

ValueId ops::copy(Builder& b, ValueId x, Space to) {
  return b.emit1("copy", {x}, {{"to", std::string(name_of(to))}});
}

}  // namespace hone
