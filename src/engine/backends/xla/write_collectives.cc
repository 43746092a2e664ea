// Collectives (engine/ops/collective_parts.h) of a module that all ranks run as its replicas. A rank has
// as many rows of a tensor as every other one; which rows, the replica's number decides at run time.
#include "engine/backends/xla/write_ops.h"

namespace hone::xla {
namespace {

int64_t ranks_of(const NodeView& n) { return n.integer("ranks"); }

Refs write_all_reduce(Writer& w, const NodeView& n, const Refs& in) {
  Refs sums;
  for (size_t i = 0; i < in.size(); ++i)
    sums.push_back(w.narrow(w.all_reduce(w.widen(in[i]), ranks_of(n)), element_of_result(n, i)));
  return sums;
}

Refs write_reduce_scatter(Writer& w, const NodeView& n, const Refs& in) {
  Refs sums;
  for (size_t i = 0; i < in.size(); ++i)
    sums.push_back(
        w.narrow(w.reduce_scatter(w.widen(in[i]), ranks_of(n)), element_of_result(n, i)));
  return sums;
}

Refs write_all_gather(Writer& w, const NodeView& n, const Refs& in) {
  Refs whole;
  for (const Ref& x : in) whole.push_back(w.all_gather(x, ranks_of(n)));
  return whole;
}

// The terms of all ranks are gathered, and this rank's rows of them added one after another.
Refs write_fold_units(Writer& w, const NodeView& n, const Refs& in) {
  const int64_t ranks = ranks_of(n), count = n.integer("count");
  const bool onto = static_cast<int64_t>(in.size()) > count + 1;
  const Ref present = in.back();
  Refs folded;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const Ref& x = in[at];
    const Shape& own = n.out(at).shape;
    Shape one = x.shape;
    one.insert(one.begin(), 1);
    const Ref all = w.all_gather(w.reshape(x, one), ranks);
    Ref sum = onto ? w.widen(in[at + static_cast<size_t>(count)]) : Ref{};
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Ref term = w.reshape(w.slice(all, 0, rank, rank + 1), x.shape);
      if (own != x.shape) term = w.own_rows(term, ranks);
      term = w.widen(term);
      if (rank == 0 && !onto) {
        sum = term;
        continue;
      }
      const Ref there = w.compare("LT", w.whole(static_cast<uint64_t>(rank), "i64"), present);
      sum = w.select(w.fill(there, sum.shape), w.binary("add", sum, term), sum);
    }
    folded.push_back(w.narrow(sum, element_of_result(n, at)));
  }
  return folded;
}

}  // namespace

void add_collectives(WriteTable& t) {
  t["all_reduce"] = write_all_reduce;
  t["reduce_scatter"] = write_reduce_scatter;
  t["all_gather"] = write_all_gather;
  t["fold_units"] = write_fold_units;
}

}  // namespace hone::xla
