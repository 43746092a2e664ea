#include "engine/device/rank_work.h"

#include <algorithm>
#include <numeric>

#include "engine/comm/group.h"
#include "engine/ops/collective_parts.h"

namespace hone {
namespace {

using Pieces = std::vector<RankPiece>;

int64_t bytes_of(const Pieces& pieces) {
  int64_t bytes = 0;
  for (const RankPiece& p : pieces) bytes += p.bytes;
  return bytes;
}

// The bytes [begin, end) of the pieces, one after another.
Pieces cut(const Pieces& pieces, int64_t begin, int64_t end) {
  Pieces some;
  int64_t at = 0;
  for (const RankPiece& p : pieces) {
    const int64_t from = std::max(begin, at), to = std::min(end, at + p.bytes);
    if (from < to) some.push_back({p.tensor, p.begin + from - at, to - from});
    at += p.bytes;
  }
  return some;
}

// The bytes of each tensor that a rank has.
Pieces rows_on(const NodeView& n, const Types& whole, int64_t rank) {
  Pieces pieces;
  for (size_t i = 0; i < whole.size(); ++i) {
    const int64_t rows = whole[i].rank() == 0 ? 1 : whole[i].shape[0],
                  row = rows == 0 ? 0 : whole[i].bytes() / rows;
    const RowRange on = rank_rows(n, i, rows, rank);
    pieces.push_back({i, on.begin * row, on.count() * row});
  }
  return pieces;
}

// The elements of all tensors, one after another, that a rank sums.
Pieces elements_on(const NodeView& n, int64_t rank) {
  Pieces all;
  int64_t count = 0;
  for (size_t i = 0; i < n.inputs(); ++i) {
    all.push_back({i, 0, n.in(i).bytes()});
    count += n.in(i).count();
  }
  const RowRange on = share_rows(count, {rank, n.integer("ranks")});
  const int64_t size = size_of(n.in(0).dtype);
  return cut(all, on.begin * size, on.end * size);
}

// Bytes of a round from each other rank, if the rank with the most sums `most` bytes. Whole elements of
// every type; cells of the workspace are aligned.
int64_t chunk_bytes(int64_t most, int64_t ranks) {
  const int64_t others = std::max<int64_t>(ranks - 1, 1);
  return std::min<int64_t>(std::max<int64_t>(kRoundBytes / others / 64, 1) * 64,
                           (most + 63) / 64 * 64);
}

// Rounds in which each rank sums its pieces of every rank's tensors. `first`: of this rank's pieces,
// by tensor, the byte of the operand with which the result begins.
void add_sums(RankWork& w, const std::vector<Pieces>& on, const Share& share,
              const std::vector<int64_t>& first, bool send_sums) {
  const auto rank = static_cast<size_t>(share.rank);
  int64_t most = 0;
  for (const Pieces& p : on) most = std::max(most, bytes_of(p));
  const int64_t chunk = chunk_bytes(most, share.ranks);
  w.rank = share.rank;
  w.ranks = share.ranks;
  w.block_bytes = chunk;
  for (int64_t begin = 0; begin < most; begin += chunk) {
    RankRound reduce, gather;
    const Pieces own = cut(on[rank], begin, begin + chunk);
    for (size_t k = 1; k < on.size(); ++k) {  // no rank is the first target of all others
      const size_t q = (rank + k) % on.size();
      const auto peer = static_cast<int>(q);
      const Pieces theirs = cut(on[q], begin, begin + chunk);
      for (const RankPiece& p : theirs) reduce.sends.push_back({peer, p});
      int64_t scratch = w.block(static_cast<int64_t>(q));
      for (const RankPiece& p : own) {
        reduce.receives.push_back({peer, p, scratch});
        scratch += p.bytes;
      }
      if (!send_sums) continue;
      for (const RankPiece& p : own) gather.sends.push_back({peer, p, true});
      for (const RankPiece& p : theirs) gather.receives.push_back({peer, p});
    }
    int64_t at = 0;
    for (const RankPiece& p : own) {
      reduce.sums.push_back({p, p.begin - first[p.tensor], at});
      at += p.bytes;
    }
    w.rounds.push_back(std::move(reduce));
    if (send_sums) w.rounds.push_back(std::move(gather));
  }
}

RankWork all_reduce_work(const NodeView& n, const Share& share) {
  RankWork w;
  std::vector<Pieces> on;
  for (int64_t q = 0; q < share.ranks; ++q) on.push_back(elements_on(n, q));
  add_sums(w, on, share, std::vector<int64_t>(n.inputs(), 0), true);
  return w;
}

RankWork reduce_scatter_work(const NodeView& n, const Share& share) {
  RankWork w;
  Types whole;
  for (size_t i = 0; i < n.inputs(); ++i) whole.push_back(n.in(i));
  std::vector<Pieces> on;
  for (int64_t q = 0; q < share.ranks; ++q) on.push_back(rows_on(n, whole, q));
  std::vector<int64_t> first;
  for (const RankPiece& p : on[static_cast<size_t>(share.rank)]) first.push_back(p.begin);
  add_sums(w, on, share, first, false);
  return w;
}

// Among one rank of each group of copies.
RankWork fold_work(const NodeView& n, const Share& share) {
  RankWork w;
  const auto count = static_cast<size_t>(n.integer("count"));
  Types whole;
  for (size_t i = 0; i < count; ++i) whole.push_back(n.in(i));
  const std::vector<int64_t> peers = fold_peers(n);
  std::vector<Pieces> on;
  for (const int64_t q : peers) on.push_back(rows_on(n, whole, q));
  std::vector<int64_t> first;
  for (const RankPiece& p : on[static_cast<size_t>(share.rank)]) first.push_back(p.begin);
  add_sums(w, on, share, first, false);
  w.present = static_cast<int64_t>(n.slot("present"));
  for (RankRound& r : w.rounds) {
    for (RankSend& s : r.sends) s.to = static_cast<int>(peers[static_cast<size_t>(s.to)]);
    for (RankReceive& from : r.receives)
      from.from = static_cast<int>(peers[static_cast<size_t>(from.from)]);
    if (n.inputs() <= count + 1) continue;
    for (RankSum& s : r.sums) s.onto = static_cast<int64_t>(count + s.own.tensor);
  }
  return w;
}

RankWork all_gather_work(const NodeView& n, const Share& share) {
  RankWork w;
  Types whole;
  for (size_t i = 0; i < n.inputs(); ++i) whole.push_back(n.out(i));
  const Pieces own = rows_on(n, whole, share.rank);
  RankRound round;
  for (int64_t q = 0; q < share.ranks; ++q) {
    const auto peer = static_cast<int>(q);
    if (q == share.rank) {
      for (const RankPiece& p : own) w.kept.push_back({{p.tensor, 0, p.bytes}, p.begin});
      continue;
    }
    for (const RankPiece& p : own) round.sends.push_back({peer, {p.tensor, 0, p.bytes}});
    for (const RankPiece& p : rows_on(n, whole, q)) round.receives.push_back({peer, p});
  }
  w.rounds.push_back(std::move(round));
  return w;
}

RankWork alone(const NodeView& n) {
  RankWork w;
  for (size_t i = 0; i < n.inputs(); ++i) w.kept.push_back({{i, 0, n.in(i).bytes()}, 0});
  return w;
}

bool folds(const NodeView& n) { return n.node.op->name == "fold_units"; }
// This rank among those whose tensors it sums.
Share summing(const NodeView& n) {
  const Share share = share_of(n);
  const int64_t copies = folds(n) ? n.integer("copies") : 1;
  return {share.rank / copies, share.ranks / copies};
}

// The most bytes that one rank sums.
int64_t most_summed(const NodeView& n, const Share& share) {
  if (n.node.op->name == "all_reduce") return bytes_of(elements_on(n, share.ranks - 1));
  Types whole;
  const size_t count = folds(n) ? static_cast<size_t>(n.integer("count")) : n.inputs();
  for (size_t i = 0; i < count; ++i) whole.push_back(n.in(i));
  std::vector<int64_t> all(static_cast<size_t>(share.ranks));
  std::iota(all.begin(), all.end(), 0);
  int64_t most = 0;
  for (const int64_t q : folds(n) ? fold_peers(n) : all)
    most = std::max(most, bytes_of(rows_on(n, whole, q)));
  return most;
}

}  // namespace

RankWork rank_work(const NodeView& n) {
  const Share share = share_of(n);
  RankWork w = folds(n)                              ? fold_work(n, summing(n))
               : share.alone()                       ? alone(n)
               : n.node.op->name == "all_reduce"     ? all_reduce_work(n, share)
               : n.node.op->name == "reduce_scatter" ? reduce_scatter_work(n, share)
                                                     : all_gather_work(n, share);
  w.name =
      n.node.scope.empty() ? n.node.op->name : fmt::format("{} {}", n.node.op->name, n.node.scope);
  w.dtype = n.in(0).dtype;
  for (RankRound& r : w.rounds) {
    for (RankSend& s : r.sends) s.to = static_cast<int>(member(n, s.to));
    for (RankReceive& from : r.receives) from.from = static_cast<int>(member(n, from.from));
  }
  w.rank = summing(n).rank;
  w.ranks = summing(n).ranks;
  return w;
}

void expect_rank_of(const NodeView& n, const Device& device) {
  const Share share = share_of(n);
  const Group* group = device.group();
  const Share run = group ? Share{group->rank(), group->ranks()} : Share{};
  const int64_t own = member(n, share.rank), last = member(n, share.ranks - 1);
  // A node of one rank exchanges nothing.
  HONE_BUG_IF(share.alone() ? own >= run.ranks : own != run.rank || last >= run.ranks,
              "{}: the program is of rank {} of {} or more, the device of rank {} of {}",
              n.node.op->name, own, last + 1, run.rank, run.ranks);
}

int64_t rank_workspace_bytes(const NodeView& n) {
  const Share share = summing(n);
  const bool sums = !n.node.op->gathers && (!share.alone() || folds(n));
  return sums ? chunk_bytes(most_summed(n, share), share.ranks) * (share.ranks - 1) : 0;
}

}  // namespace hone
