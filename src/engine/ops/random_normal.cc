// random_normal(step) = normal numbers with mean 0 and the standard deviation std; after each
// `period` steps they are others. step i64[], 1 for the first -> [shape] of attribute dtype.
// Element i of the round r = (step - 1) / period comes from the Philox4x32-10 block with the
// counter {lo32(i/4), hi32(i/4), lo32(r), hi32(r)} and the key {lo32(key), hi32(key)}: the words
// (a, b) are 0 and 1 for i % 4 < 2, else 2 and 3, and the element is  std sqrt(-2 ln((a + 1/2) /
// 2^32)) times cos(2 pi b / 2^32) for even i, sin for odd ones (Box and Muller 1958).
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_random_normal(const NodeView& n) {
  HONE_TRY(expect_type(n, 0, {DType::i64, {}}));
  if (n.integer("period") < 1) return bad_operands(n, "the period must be 1 or more");
  Type t = HONE_TRY(type_attrs(n));
  if (!is_float(t.dtype)) return bad_operands(n, "the element type must be floating-point");
  return Types{std::move(t)};
}

Cost cost_random_normal(const NodeView& n) { return elementwise(n, 40); }

}  // namespace

Op define_random_normal() {
  return {.name = "random_normal",
          .operands = {"step"},
          .attrs = {required("dtype", ""), required("shape", Shape{}), required("std", 0.0),
                    required("period", 0), required("key", 0)},
          .infer = infer_random_normal,
          .cost = cost_random_normal};
}

ValueId ops::random_normal(Builder& b, ValueId step, const Type& type, double std, int64_t period,
                           int64_t key) {
  return b.emit1("random_normal", {step},
                 {{"dtype", std::string(name_of(type.dtype))},
                  {"shape", type.shape},
                  {"std", std},
                  {"period", period},
                  {"key", key}});
}

}  // namespace hone
