// fold_units(x0, x1, ..., [sum0, sum1, ...], present) {count} = this rank's rows of
// ((sum_i + x_i of rank 0) + x_i of rank 1) + ..., for `count` tensors: units of a step in their
// global order, one of each rank in a round. Without sums it begins with x_i of rank 0. present
// i64[]: only that number of ranks have a unit in this round; the others' tensors are not added.
// Attributes: collective_parts.h; a tensor with owners[i] = -2 is whole on every rank, and may be a
// scalar. A result may be written over its sum.
// Attribute copies: as many ranks one after another have the same terms, which count once; a rank takes
// those of the others from ranks of its own place among the copies. present then counts such groups.
// Attribute parts: as many ranks one after another cut the rows, and others like them have the same rows.
// One order of additions for any number of ranks, so the bits do not depend on it.
#include "engine/ops/collective_parts.h"

namespace hone {
namespace {

size_t folded(const NodeView& n) { return static_cast<size_t>(n.integer("count")); }

Result<Types> infer_fold_units(const NodeView& n) {
  const int64_t count = n.integer("count");
  if (count < 1 || count > 1 << 20 ||
      (n.inputs() != folded(n) + 1 && n.inputs() != 2 * folded(n) + 1))
    return bad_operands(n, fmt::format("count={} does not fit the operands", count));
  HONE_TRY(expect_split(n, folded(n), true));
  if (const int64_t copies = n.integer("copies"); copies < 1 || n.integer("ranks") % copies != 0)
    return bad_operands(n, fmt::format("copies={} does not divide the ranks", copies));
  if (const int64_t parts = n.integer("parts");
      parts < 0 || (parts > 0 && n.integer("ranks") % parts != 0))
    return bad_operands(n, fmt::format("parts={} does not divide the ranks", parts));
  HONE_TRY(expect_bucket(n, folded(n)));
  HONE_TRY(expect_type(n, n.slot("present"), {DType::i64, {}}));
  Types t;
  for (size_t i = 0; i < folded(n); ++i) {
    t.push_back(n.in(i));
    if (n.in(i).rank() > 0)
      t.back().shape[0] = rank_rows(n, i, n.in(i).shape[0], n.integer("rank")).count();
    if (n.inputs() > folded(n) + 1) HONE_TRY(expect_type(n, folded(n) + i, t.back()));
  }
  return t;
}

// The rows of each tensor of the other ranks that take this rank's terms.
int64_t fold_units_traffic(const NodeView& n) {
  int64_t bytes = 0;
  for (size_t i = 0; i < folded(n); ++i) {
    const int64_t rows = n.in(i).rank() == 0 ? 1 : n.in(i).shape[0],
                  row = rows == 0 ? 0 : n.in(i).bytes() / rows;
    for (const int64_t q : fold_peers(n))
      if (q != n.integer("rank")) bytes += row * rank_rows(n, i, rows, q).count();
  }
  return bytes;
}

int over_sums(const NodeView& n, size_t k) {
  return n.inputs() > folded(n) + 1 ? static_cast<int>(folded(n) + k) : -1;
}

}  // namespace

Op define_fold_units() {
  std::vector<AttrSpec> attrs = collective_attrs(true);
  attrs.push_back(required("count", 0));
  attrs.push_back({"copies", 1});
  attrs.push_back({"parts", 0});
  return {.name = "fold_units",
          .operands = {"terms...", "sums...", "present"},
          .attrs = std::move(attrs),
          .infer = infer_fold_units,
          .cost = free_of_charge,
          .over_in_lists = over_sums,
          .traffic = fold_units_traffic};
}

Values ops::fold_units(Builder& b, const Values& terms, const Values& sums, ValueId present,
                       const Split& split) {
  Attrs attrs;
  set_split(attrs, split);
  attrs.set("count", static_cast<int64_t>(terms.size()));
  Values in = terms;
  in.insert(in.end(), sums.begin(), sums.end());
  in.push_back(present);
  return b.emit("fold_units", in, attrs);
}

}  // namespace hone
