// reduce_scatter(x0, x1, ...) = this rank's rows of the sum of each tensor over all ranks. Attributes
// and the order of sums: collective_parts.h.
#include "engine/ops/collective_parts.h"

namespace hone {
namespace {

Result<Types> infer_reduce_scatter(const NodeView& n) {
  HONE_TRY(expect_split(n, n.inputs()));
  HONE_TRY(expect_bucket(n, n.inputs()));
  Types t;
  for (size_t i = 0; i < n.inputs(); ++i) {
    t.push_back(n.in(i));
    t.back().shape[0] = rank_rows(n, i, n.in(i).shape[0], n.integer("rank")).count();
  }
  return t;
}

// The rows of the other ranks of each tensor.
int64_t reduce_scatter_traffic(const NodeView& n) {
  int64_t bytes = 0;
  for (size_t i = 0; i < n.inputs(); ++i) bytes += n.in(i).bytes() - n.out(i).bytes();
  return bytes;
}

}  // namespace

Op define_reduce_scatter() {
  return {.name = "reduce_scatter",
          .operands = {"tensors..."},
          .attrs = collective_attrs(true),
          .infer = infer_reduce_scatter,
          .cost = free_of_charge,
          .traffic = reduce_scatter_traffic};
}

Values ops::reduce_scatter(Builder& b, const Values& tensors, const Split& split) {
  Attrs attrs;
  set_split(attrs, split);
  return b.emit("reduce_scatter", tensors, attrs);
}

}  // namespace hone
