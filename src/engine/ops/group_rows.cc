// group_rows(ids) {groups, each}: sorts rows by group. Row r belongs to group ids[r], 0..groups-1; the rows
// of a group keep their order. ids i32[N] -> rows i32[N], places i32[N], starts i32[groups+1], groups i32[N]:
// row r comes to place places[r], place p has row r with rows[p] = r / each and is of group groups[p], and
// group g has the places starts[g] to starts[g + 1] - 1. So `each` rows beside each other may be copies of
// one.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_group_rows(const NodeView& n) {
  if (n.in(0).rank() != 1 || n.in(0).dtype != DType::i32)
    return bad_operands(n, "the ids must be i32[N]");
  const int64_t groups = n.integer("groups"), each = n.integer("each");
  if (groups < 1 || each < 1 || n.in(0).shape[0] % each != 0)
    return bad_operands(n, fmt::format("groups={}, each={}", groups, each));
  return Types{n.in(0), n.in(0), {DType::i32, {groups + 1}}, n.in(0)};
}

}  // namespace

Op define_group_rows() {
  return {.name = "group_rows",
          .operands = {"ids"},
          .attrs = {required("groups", 0), {"each", 1}},
          .infer = infer_group_rows,
          .cost = [](const NodeView& n) { return elementwise(n, 1); }};
}

ops::Groups ops::group_rows(Builder& b, ValueId ids, int64_t groups, int64_t each) {
  const Values v = b.emit("group_rows", {ids}, {{"groups", groups}, {"each", each}});
  return {v[0], v[1], v[2], v[3]};
}

}  // namespace hone
