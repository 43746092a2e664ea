// all_gather(part0, part1, ...) {rows} = the tensors of rows[i] rows whose rows on this rank are
// part i, and on other ranks theirs. Attributes: collective_parts.h.
#include "engine/ops/collective_parts.h"

namespace hone {
namespace {

Result<Types> infer_all_gather(const NodeView& n) {
  HONE_TRY(expect_split(n, n.inputs()));
  const std::vector<int64_t>& rows = n.integers("rows");
  if (rows.size() != n.inputs())
    return bad_operands(n,
                        fmt::format("rows has {} entries for {} tensors", rows.size(), n.inputs()));
  Types t;
  for (size_t i = 0; i < n.inputs(); ++i) {
    if (rows[i] < 0 || rows[i] > kMostRows)
      return bad_operands(n, fmt::format("a tensor of {} rows", rows[i]));
    const int64_t own = rank_rows(n, i, rows[i], n.integer("rank")).count();
    if (n.in(i).shape[0] != own)
      return bad_operands(
          n, fmt::format("this rank has {} of the {} rows of tensor {}", own, rows[i], i));
    t.push_back(n.in(i));
    t.back().shape[0] = rows[i];
  }
  return t;
}

int64_t all_gather_traffic(const NodeView& n) {
  int64_t bytes = 0;
  for (size_t i = 0; i < n.inputs(); ++i) bytes += n.in(i).bytes();
  return bytes * (n.integer("ranks") - 1);
}

}  // namespace

Op define_all_gather() {
  std::vector<AttrSpec> attrs = collective_attrs(true);
  attrs.push_back(required("rows", Shape{}));
  return {.name = "all_gather",
          .operands = {"parts..."},
          .attrs = std::move(attrs),
          .infer = infer_all_gather,
          .cost = free_of_charge,
          .traffic = all_gather_traffic,
          .gathers = true};
}

Values ops::all_gather(Builder& b, const Values& parts, const std::vector<int64_t>& rows,
                       const Split& split) {
  Attrs attrs;
  set_split(attrs, split);
  attrs.set("rows", rows);
  return b.emit("all_gather", parts, attrs);
}

}  // namespace hone
