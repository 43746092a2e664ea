// all_reduce(x0, x1, ...) = the sum of each tensor over all ranks, on every rank. Attributes and the
// order of sums: collective_parts.h. Results may be written over their operands.
// Rank r sums the elements [N r/n, N (r+1)/n) of the N elements of all tensors, one after another,
// and sends the sums to the others.
#include "engine/ops/collective_parts.h"

namespace hone {
namespace {

Result<Types> infer_all_reduce(const NodeView& n) {
  HONE_TRY(expect_split(n, n.inputs()));
  HONE_TRY(expect_bucket(n, n.inputs()));
  Types t;
  for (size_t i = 0; i < n.inputs(); ++i) t.push_back(n.in(i));
  return t;
}

int64_t all_reduce_traffic(const NodeView& n) {
  int64_t count = 0;
  for (size_t i = 0; i < n.inputs(); ++i) count += n.in(i).count();
  const Share share = share_of(n);
  const int64_t own = share_rows(count, share).count();
  return (count - own + own * (share.ranks - 1)) * size_of(n.in(0).dtype);
}

// Every rank reads the same sum, whose gradient all of them have.
Values grad_all_reduce(Builder&, const NodeView&, const Values& d) { return d; }

int in_place(const NodeView&, size_t k) { return static_cast<int>(k); }

}  // namespace

Op define_all_reduce() {
  return {.name = "all_reduce",
          .operands = {"tensors..."},
          .attrs = collective_attrs(false),
          .infer = infer_all_reduce,
          .grad = grad_all_reduce,
          .cost = free_of_charge,
          .over_in_lists = in_place,
          .traffic = all_reduce_traffic};
}

Values ops::all_reduce(Builder& b, const Values& tensors, const Share& share) {
  Attrs attrs;
  set_split(attrs, {share});
  return b.emit("all_reduce", tensors, attrs);
}

}  // namespace hone
