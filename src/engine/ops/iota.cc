// iota() = a tensor of type `dtype`, `shape` whose elements equal their index along `axis`.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_iota(const NodeView& n) {
  Type t = HONE_TRY(type_attrs(n));
  HONE_TRY(expect_axis(n, n.integer("axis"), t.rank()));
  return Types{t};
}

Cost cost_iota(const NodeView& n) { return elementwise(n, 0); }

}  // namespace

Op define_iota() {
  return {.name = "iota",
          .attrs = {required("axis", 0), required("dtype", ""), required("shape", Shape{})},
          .infer = infer_iota,
          .cost = cost_iota};
}

ValueId ops::iota(Builder& b, Type type, int64_t axis) {
  return b.emit1(
      "iota", {},
      {{"axis", axis}, {"dtype", std::string(name_of(type.dtype))}, {"shape", type.shape}});
}

}  // namespace hone
