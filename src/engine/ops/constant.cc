// constant() = a tensor whose elements all equal attribute `value`, of type `dtype`, `shape`.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer(const NodeView& n) {
  HONE_TRY(expect_inputs(n, 0, 0));
  return Types{HONE_TRY(type_attrs(n))};
}

Cost cost(const NodeView& n) { return elementwise(n, 0); }

}  // namespace

Op define_constant() { return {"constant", infer, nullptr, nullptr, cost}; }

ValueId ops::constant(Builder& b, double value, Type type) {
  return b.emit1(
      "constant", {},
      {{"value", value}, {"dtype", std::string(name_of(type.dtype))}, {"shape", type.shape}});
}

}  // namespace hone
