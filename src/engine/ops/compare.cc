// compare(x, y) = x `how` y as bool, `how` one of eq ne lt le gt ge; shapes as for add.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer(const NodeView& n) {
  Types t = HONE_TRY(same_as_both(n));
  std::string how = n.attrs().text("how");
  const std::vector<std::string> known{"eq", "ne", "lt", "le", "gt", "ge"};
  if (std::find(known.begin(), known.end(), how) == known.end())
    return bad_operands(n, fmt::format("how='{}' is not one of {}", how, fmt::join(known, " ")));
  t[0].dtype = DType::boolean;
  return t;
}

}  // namespace

Op define_compare() { return {"compare", infer}; }

ValueId ops::compare(Builder& b, ValueId x, ValueId y, const std::string& how) {
  return b.emit1("compare", {x, y}, {{"how", how}});
}

}  // namespace hone
