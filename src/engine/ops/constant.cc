// constant() = a tensor whose elements all equal attribute `value`, of type `dtype`, `shape`.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_constant(const NodeView& n) { return Types{HONE_TRY(type_attrs(n))}; }

Cost cost_constant(const NodeView& n) { return elementwise(n, 0); }

}  // namespace

Op define_constant() {
  return {.name = "constant",
          .attrs = {required("value", 0.0), required("dtype", ""), required("shape", Shape{})},
          .infer = infer_constant,
          .cost = cost_constant};
}

ValueId ops::constant(Builder& b, double value, Type type) {
  return b.emit1(
      "constant", {},
      {{"value", value}, {"dtype", std::string(name_of(type.dtype))}, {"shape", type.shape}});
}

}  // namespace hone
