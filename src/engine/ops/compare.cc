// compare(x, y) = x `how` y as bool, `how` one of eq ne lt le gt ge; shapes as for add.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_compare(const NodeView& n) {
  Types t = HONE_TRY(same_as_both(n));
  t[0].dtype = DType::boolean;
  return t;
}

}  // namespace

Op define_compare() {
  return {.name = "compare",
          .operands = {"x", "y"},
          .attrs = {required("how", "", {"eq", "ne", "lt", "le", "gt", "ge"})},
          .infer = infer_compare};
}

ValueId ops::compare(Builder& b, ValueId x, ValueId y, const std::string& how) {
  return b.emit1("compare", {x, y}, {{"how", how}});
}

}  // namespace hone
