#include "engine/device/rank_kernels.h"

#include <algorithm>
#include <cstring>

#include "engine/comm/group.h"
#include "engine/comm/sums.h"
#include "engine/ops/collective_parts.h"

namespace hone {
namespace {

// Bytes of an operand or a result.
struct Piece {
  size_t tensor = 0;
  int64_t begin = 0, bytes = 0;
};
using Pieces = std::vector<Piece>;

int64_t bytes_of(const Pieces& pieces) {
  int64_t bytes = 0;
  for (const Piece& p : pieces) bytes += p.bytes;
  return bytes;
}

// The bytes [begin, end) of the pieces, one after another.
Pieces cut(const Pieces& pieces, int64_t begin, int64_t end) {
  Pieces some;
  int64_t at = 0;
  for (const Piece& p : pieces) {
    const int64_t from = std::max(begin, at), to = std::min(end, at + p.bytes);
    if (from < to) some.push_back({p.tensor, p.begin + from - at, to - from});
    at += p.bytes;
  }
  return some;
}

// A message, and where its bytes are.
struct Sent {
  int to = 0;
  Piece piece;
  bool of_result = false;  // else of an operand
};
struct Received {
  int from = 0;
  Piece piece;           // of a result
  int64_t scratch = -1;  // instead: the first byte in the workspace
};
// A sum of the bytes of an operand and those that the other ranks sent.
struct Sum {
  Piece own;                    // of the operand
  int64_t begin = 0;            // of the result of the same number
  std::vector<int64_t> others;  // by rank: the first byte in the workspace; of this rank -1
  int64_t onto = -1;            // the operand that it is added to, at the result's place, or -1
};
struct Round {
  std::vector<Sent> sends;
  std::vector<Received> receives;
  std::vector<Sum> sums;  // after the messages
};
// Bytes of operands that are bytes of results.
struct Kept {
  Piece own;
  int64_t begin = 0;  // of the result
};

struct Work {
  std::string name;  // of the node, for errors and reports
  DType dtype = DType::f32;
  std::vector<Kept> kept;  // before the first round
  int64_t present = -1;    // operand: the number of ranks whose tensors count; -1: all
  size_t ranks = 1;
  std::vector<Round> rounds;
  int64_t workspace_bytes = 0;
  std::vector<Send> sends;  // of one round; reused
  std::vector<Receive> receives;
  std::vector<const std::byte*> terms;  // of one sum, by rank
};

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
void add_sums(Work& w, const std::vector<Pieces>& on, const Share& share,
              const std::vector<int64_t>& first, bool send_sums) {
  const auto rank = static_cast<size_t>(share.rank);
  int64_t most = 0;
  for (const Pieces& p : on) most = std::max(most, bytes_of(p));
  const int64_t chunk = chunk_bytes(most, share.ranks);
  w.workspace_bytes = chunk * (share.ranks - 1);
  for (int64_t begin = 0; begin < most; begin += chunk) {
    Round reduce, gather;
    const Pieces own = cut(on[rank], begin, begin + chunk);
    for (size_t k = 1; k < on.size(); ++k) {  // no rank is the first target of all others
      const size_t q = (rank + k) % on.size();
      const auto peer = static_cast<int>(q);
      const Pieces theirs = cut(on[q], begin, begin + chunk);
      for (const Piece& p : theirs) reduce.sends.push_back({peer, p});
      int64_t scratch = static_cast<int64_t>(q < rank ? q : q - 1) * chunk;
      for (const Piece& p : own) {
        reduce.receives.push_back({peer, p, scratch});
        scratch += p.bytes;
      }
      if (!send_sums) continue;
      for (const Piece& p : own) gather.sends.push_back({peer, p, true});
      for (const Piece& p : theirs) gather.receives.push_back({peer, p});
    }
    int64_t at = 0;
    for (const Piece& p : own) {
      Sum& sum = reduce.sums.emplace_back(Sum{p, p.begin - first[p.tensor], {}});
      for (size_t q = 0; q < on.size(); ++q)
        sum.others.push_back(q == rank ? -1
                                       : static_cast<int64_t>(q < rank ? q : q - 1) * chunk + at);
      at += p.bytes;
    }
    w.rounds.push_back(std::move(reduce));
    if (send_sums) w.rounds.push_back(std::move(gather));
  }
}

Work all_reduce_work(const NodeView& n, const Share& share) {
  Work w;
  std::vector<Pieces> on;
  for (int64_t q = 0; q < share.ranks; ++q) on.push_back(elements_on(n, q));
  add_sums(w, on, share, std::vector<int64_t>(n.inputs(), 0), true);
  return w;
}

Work reduce_scatter_work(const NodeView& n, const Share& share) {
  Work w;
  Types whole;
  for (size_t i = 0; i < n.inputs(); ++i) whole.push_back(n.in(i));
  std::vector<Pieces> on;
  for (int64_t q = 0; q < share.ranks; ++q) on.push_back(rows_on(n, whole, q));
  std::vector<int64_t> first;
  for (const Piece& p : on[static_cast<size_t>(share.rank)]) first.push_back(p.begin);
  add_sums(w, on, share, first, false);
  return w;
}

Work fold_work(const NodeView& n, const Share& share) {
  Work w;
  const auto count = static_cast<size_t>(n.integer("count"));
  Types whole;
  for (size_t i = 0; i < count; ++i) whole.push_back(n.in(i));
  std::vector<Pieces> on;
  for (int64_t q = 0; q < share.ranks; ++q) on.push_back(rows_on(n, whole, q));
  std::vector<int64_t> first;
  for (const Piece& p : on[static_cast<size_t>(share.rank)]) first.push_back(p.begin);
  add_sums(w, on, share, first, false);
  w.present = static_cast<int64_t>(n.slot("present"));
  if (n.inputs() > count + 1)
    for (Round& r : w.rounds)
      for (Sum& s : r.sums) s.onto = static_cast<int64_t>(count + s.own.tensor);
  return w;
}

Work all_gather_work(const NodeView& n, const Share& share) {
  Work w;
  Types whole;
  for (size_t i = 0; i < n.inputs(); ++i) whole.push_back(n.out(i));
  const Pieces own = rows_on(n, whole, share.rank);
  Round round;
  for (int64_t q = 0; q < share.ranks; ++q) {
    const auto peer = static_cast<int>(q);
    if (q == share.rank) {
      for (const Piece& p : own) w.kept.push_back({{p.tensor, 0, p.bytes}, p.begin});
      continue;
    }
    for (const Piece& p : own) round.sends.push_back({peer, {p.tensor, 0, p.bytes}});
    for (const Piece& p : rows_on(n, whole, q)) round.receives.push_back({peer, p});
  }
  w.rounds.push_back(std::move(round));
  return w;
}

Work alone(const NodeView& n) {
  Work w;
  for (size_t i = 0; i < n.inputs(); ++i) w.kept.push_back({{i, 0, n.in(i).bytes()}, 0});
  return w;
}

Work work_of(const NodeView& n) {
  const Share share = share_of(n);
  Work w = n.node.op->name == "fold_units"       ? fold_work(n, share)
           : share.alone()                       ? alone(n)
           : n.node.op->name == "all_reduce"     ? all_reduce_work(n, share)
           : n.node.op->name == "reduce_scatter" ? reduce_scatter_work(n, share)
                                                 : all_gather_work(n, share);
  w.name =
      n.node.scope.empty() ? n.node.op->name : fmt::format("{} {}", n.node.op->name, n.node.scope);
  w.dtype = n.in(0).dtype;
  for (Round& r : w.rounds) {
    for (Sent& s : r.sends) s.to = static_cast<int>(member(n, s.to));
    for (Received& from : r.receives) from.from = static_cast<int>(member(n, from.from));
    w.sends.reserve(std::max(w.sends.capacity(), r.sends.size()));
    w.receives.reserve(std::max(w.receives.capacity(), r.receives.size()));
  }
  w.terms.reserve(static_cast<size_t>(share.ranks) + 1);
  w.ranks = static_cast<size_t>(share.ranks);
  return w;
}

const std::byte* operand(const KernelArgs& a, const Piece& p) {
  return static_cast<const std::byte*>(a.in[p.tensor]) + p.begin;
}
std::byte* result(const KernelArgs& a, size_t tensor, int64_t begin) {
  return static_cast<std::byte*>(a.out[tensor]) + begin;
}

Status do_round(Work& w, const Round& round, Group* group, const KernelArgs& a) {
  auto* scratch = static_cast<std::byte*>(a.workspace);
  w.sends.clear();
  w.receives.clear();
  for (const Sent& s : round.sends) {
    const std::byte* from =
        s.of_result ? result(a, s.piece.tensor, s.piece.begin) : operand(a, s.piece);
    w.sends.push_back({s.to, {from, static_cast<size_t>(s.piece.bytes)}});
  }
  for (const Received& r : round.receives) {
    std::byte* to = r.scratch >= 0 ? scratch + r.scratch : result(a, r.piece.tensor, r.piece.begin);
    w.receives.push_back({r.from, {to, static_cast<size_t>(r.piece.bytes)}});
  }
  if (group) HONE_TRY(group->exchange(w.sends, w.receives));
  const size_t present =
      w.present < 0
          ? w.ranks
          : static_cast<size_t>(*static_cast<const int64_t*>(a.in[static_cast<size_t>(w.present)]));
  for (const Sum& s : round.sums) {
    w.terms.clear();
    if (s.onto >= 0)
      w.terms.push_back(operand(a, {static_cast<size_t>(s.onto), s.begin, s.own.bytes}));
    for (size_t q = 0; q < std::min(present, s.others.size()); ++q)
      w.terms.push_back(s.others[q] < 0 ? operand(a, s.own) : scratch + s.others[q]);
    sum_terms(w.dtype, s.own.bytes / size_of(w.dtype), w.terms, result(a, s.own.tensor, s.begin),
              nullptr);
  }
  return Ok{};
}

Status do_work(Work& w, Group* group, const KernelArgs& a) {
  for (const Kept& k : w.kept)
    if (std::byte* to = result(a, k.own.tensor, k.begin);
        to != operand(a, k.own) && k.own.bytes > 0)
      std::memcpy(to, operand(a, k.own), static_cast<size_t>(k.own.bytes));
  for (const Round& round : w.rounds) HONE_TRY(do_round(w, round, group, a));
  return Ok{};
}

// The most bytes that one rank sums.
int64_t most_summed(const NodeView& n, const Share& share) {
  if (n.node.op->name == "all_reduce") return bytes_of(elements_on(n, share.ranks - 1));
  Types whole;
  const bool folds = n.node.op->name == "fold_units";
  const size_t count = folds ? static_cast<size_t>(n.integer("count")) : n.inputs();
  for (size_t i = 0; i < count; ++i) whole.push_back(n.in(i));
  int64_t most = 0;
  for (int64_t q = 0; q < share.ranks; ++q) most = std::max(most, bytes_of(rows_on(n, whole, q)));
  return most;
}

}  // namespace

Choice rank_choice(const NodeView& n) {
  const Share share = share_of(n);
  const bool sums = !n.node.op->gathers && (!share.alone() || n.node.op->name == "fold_units");
  return {"ranks." + n.node.op->name,
          sums ? chunk_bytes(most_summed(n, share), share.ranks) * (share.ranks - 1) : 0};
}

Kernel rank_kernel(const NodeView& n, Device* device) {
  const Share share = share_of(n);
  Group* group = device ? device->group() : nullptr;
  const Share run = group ? Share{group->rank(), group->ranks()} : Share{};
  const int64_t own = member(n, share.rank), last = member(n, share.ranks - 1);
  // A node of one rank exchanges nothing.
  HONE_BUG_IF(device && (share.alone() ? own >= run.ranks : own != run.rank || last >= run.ranks),
              "{}: the program is of rank {} of {} or more, the device of rank {} of {}",
              n.node.op->name, own, last + 1, run.rank, run.ranks);
  auto work = std::make_shared<Work>(work_of(n));
  const int64_t bytes = work->workspace_bytes;
  return {"ranks." + n.node.op->name, bytes, [work, group, device](const KernelArgs& a) {
            device->begin_collective(&work->name);
            Status done = do_work(*work, group, a);
            device->begin_collective(nullptr);
            if (!done.ok()) device->keep_failure(std::move(done.error().at(work->name)));
          }};
}

}  // namespace hone
