#include "engine/ops/collective_parts.h"

namespace hone {

std::vector<AttrSpec> collective_attrs(bool of_rows) {
  std::vector<AttrSpec> attrs{
      required("ranks", 1), required("rank", 0), {"first", 0}, {"stride", 1}};
  if (of_rows) attrs.insert(attrs.end(), {AttrSpec{"units", Shape{}}, AttrSpec{"owners", Shape{}}});
  return attrs;
}

void set_split(Attrs& attrs, const ops::Split& split) {
  attrs.set("ranks", split.share.ranks);
  attrs.set("rank", split.share.rank);
  if (!split.units.empty()) attrs.set("units", split.units);
  if (!split.owners.empty()) attrs.set("owners", split.owners);
  if (split.copies > 1) attrs.set("copies", split.copies);
  if (split.parts > 0) attrs.set("parts", split.parts);
}

Share share_of(const NodeView& n) { return {n.integer("rank"), n.integer("ranks")}; }

int64_t member(const NodeView& n, int64_t rank) {
  return n.integer("first") + rank * n.integer("stride");
}

RowRange rank_rows(const NodeView& n, size_t i, int64_t rows, int64_t rank) {
  const std::vector<int64_t>&units = n.integers("units"), &owners = n.integers("owners");
  Share share{rank, n.integer("ranks")};
  if (n.node.op->attr("parts") && n.integer("parts") > 0)
    share = {rank % n.integer("parts"), n.integer("parts")};
  if (!owners.empty() && owners[i] == kEverywhere) return {0, rows};
  if (!owners.empty() && owners[i] >= 0)
    return share.rank < owners[i] ? RowRange{0, 0}
                                  : RowRange{share.rank == owners[i] ? 0 : rows, rows};
  return share_rows(rows, share, units.empty() ? 1 : units[i]);
}

std::vector<int64_t> fold_peers(const NodeView& n) {
  std::vector<int64_t> peers;
  const int64_t copies = n.integer("copies"), ranks = n.integer("ranks");
  for (int64_t q = n.integer("rank") % copies; q < ranks; q += copies) peers.push_back(q);
  return peers;
}

Status expect_split(const NodeView& n, size_t tensors, bool everywhere) {
  const Share share = share_of(n);
  if (share.ranks < 1 || share.ranks > 1 << 20 || share.rank < 0 || share.rank >= share.ranks)
    return bad_operands(n, fmt::format("rank {} of {} ranks", share.rank, share.ranks));
  const int64_t first = n.integer("first"), stride = n.integer("stride");
  if (first < 0 || first > 1 << 20 || stride < 1 || stride > 1 << 20)
    return bad_operands(n, fmt::format("first={}, stride={} is out of range", first, stride));
  if (!n.node.op->attr("units")) return Ok{};
  for (const char* list : {"units", "owners"})
    if (const size_t size = n.integers(list).size(); size != 0 && size != tensors)
      return bad_operands(n, fmt::format("{} has {} entries for {} tensors", list, size, tensors));
  for (const int64_t unit : n.integers("units"))
    if (unit < 1 || unit > kMostRows)
      return bad_operands(n, fmt::format("a unit of {} rows", unit));
  for (const int64_t owner : n.integers("owners"))
    if (owner >= share.ranks || owner < (everywhere ? kEverywhere : -1))
      return bad_operands(n, fmt::format("there is no rank {}", owner));
  const std::vector<int64_t>& owners = n.integers("owners");
  for (size_t i = 0; i < tensors; ++i) {
    if (!owners.empty() && owners[i] == kEverywhere) continue;
    if (n.in(i).rank() == 0) return bad_operands(n, "a scalar has no rows");
    if (n.in(i).shape[0] > kMostRows) return bad_operands(n, "a tensor has too many rows");
  }
  return Ok{};
}

Status expect_bucket(const NodeView& n, size_t tensors) {
  for (size_t i = 0; i < tensors; ++i) {
    HONE_TRY(expect_float(n, i));
    if (n.in(i).dtype != n.in(0).dtype) return bad_operands(n, "element types differ");
  }
  return Ok{};
}

}  // namespace hone
