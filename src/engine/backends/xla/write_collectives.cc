// Collectives (engine/ops/collective_parts.h) of a module that all ranks run as its replicas. Every rank has
// as many rows of a tensor as the one with most, its own first (replicas.h); which rows, the replica's
// number decides at run time.
#include <algorithm>

#include "engine/backends/xla/write_ops.h"
#include "engine/ops/collective_parts.h"

namespace hone::xla {
namespace {

int64_t ranks_of(const NodeView& n) { return n.integer("ranks"); }

Ref summed(Writer& w, const NodeView& n, size_t i, const Ref& x) {
  return w.narrow(w.all_reduce(w.widen(x), ranks_of(n)), element_of_result(n, i));
}

// The rows of tensor i on each rank.
struct RankRows {
  RankRows(const NodeView& n, size_t i, int64_t rows) {
    for (int64_t r = 0; r < ranks_of(n); ++r) {
      const RowRange own = rank_rows(n, i, rows, r);
      begins.push_back(own.begin);
      counts.push_back(own.count());
      most = std::max(most, own.count());
    }
    equal = std::all_of(counts.begin(), counts.end(), [&](int64_t c) { return c == most; });
  }
  std::vector<int64_t> begins, counts;
  int64_t most = 0;
  bool equal = true;
};

// The barrier makes the rows of a rank values of their own: a compiler that has only all_reduce (TPU v2 and v3) takes
// them from the whole sum where they are read, at the end of a step, and keeps the whole sums of all layers until then.
Ref own_rows_of_sum(Writer& w, const NodeView& n, size_t i, const Ref& given) {
  const RankRows rows(n, i, given.shape[0]);
  Ref x = w.widen(given);
  if (!rows.equal) {
    x = w.padded(x, 0, *std::max_element(rows.begins.begin(), rows.begins.end()) + rows.most);
    Refs parts;
    for (const int64_t begin : rows.begins)
      parts.push_back(w.slice(x, 0, begin, begin + rows.most));
    x = w.concat(parts, 0);
  }
  return w.barrier({w.narrow(w.reduce_scatter(x, ranks_of(n)), element_of_result(n, i))})[0];
}

Ref gathered(Writer& w, const NodeView& n, size_t i, const Ref& x) {
  const RankRows rows(n, i, n.out(i).shape[0]);
  const Ref all = w.all_gather(x, ranks_of(n));
  if (rows.equal) return all;
  Refs parts;
  for (size_t r = 0; r < rows.counts.size(); ++r) {
    const int64_t begin = static_cast<int64_t>(r) * rows.most;
    parts.push_back(w.slice(all, 0, begin, begin + rows.counts[r]));
  }
  return w.concat(parts, 0);
}

Refs write_tensors(Writer& w, const NodeView& n, const Refs& in) {
  Refs out;
  for (size_t i = 0; i < in.size(); ++i) out.push_back(write_tensor(w, n, i, in[i]));
  return out;
}

// The terms of all ranks are gathered, and this rank's rows of them added one after another.
Refs write_fold_units(Writer& w, const NodeView& n, const Refs& in) {
  const int64_t ranks = ranks_of(n), count = n.integer("count"), copies = n.integer("copies");
  const bool onto = static_cast<int64_t>(in.size()) > count + 1;
  const Ref present = in.back();
  Refs folded;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const Ref& x = in[at];
    const Shape& own = n.out(at).shape;
    const RankRows rows(n, at, x.shape[0]);
    Shape one = x.shape;
    one.insert(one.begin(), 1);
    const Ref all = w.all_gather(w.reshape(x, one), ranks);
    Ref sum = onto ? w.widen(in[at + static_cast<size_t>(count)]) : Ref{};
    for (int64_t rank = 0; rank < ranks; rank += copies) {
      Ref term = w.reshape(w.slice(all, 0, rank, rank + 1), x.shape);
      if (own != x.shape) term = w.slice_of_replica(term, 0, rows.begins, rows.most);
      term = w.widen(term);
      if (rank == 0 && !onto) {
        sum = term;
        continue;
      }
      const Ref there =
          w.compare("LT", w.whole(static_cast<uint64_t>(rank / copies), "i64"), present);
      sum = w.select(w.fill(there, sum.shape), w.binary("add", sum, term), sum);
    }
    folded.push_back(w.narrow(sum, element_of_result(n, at)));
  }
  return folded;
}

}  // namespace

Ref write_tensor(Writer& w, const NodeView& n, size_t i, const Ref& x) {
  const std::string& name = n.node.op->name;
  if (name == "all_reduce") return summed(w, n, i, x);
  return name == "all_gather" ? gathered(w, n, i, x) : own_rows_of_sum(w, n, i, x);
}

void add_collectives(WriteTable& t) {
  for (const char* op : {"all_reduce", "reduce_scatter", "all_gather"}) t[op] = write_tensors;
  t["fold_units"] = write_fold_units;
}

}  // namespace hone::xla
