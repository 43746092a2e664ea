#include "engine/device/rank_kernels.h"

#include <algorithm>
#include <cstring>

#include "engine/comm/sums.h"
#include "engine/device/rank_messages.h"
#include "engine/ops/collective_parts.h"

namespace hone {
namespace {

// Work, and lists that its rounds use again.
struct HostRankWork : RankWork {
  explicit HostRankWork(RankWork w) : RankWork(std::move(w)), messages(*this) {
    terms.reserve(static_cast<size_t>(ranks) + 1);
  }
  RankMessages messages;
  std::vector<const std::byte*> terms;  // of one sum, by rank
};

Status do_round(HostRankWork& w, const RankRound& round, Group* group, const KernelArgs& a) {
  const auto* scratch = static_cast<const std::byte*>(a.workspace);
  w.messages.set(round, a);
  if (group) HONE_TRY(group->exchange(w.messages.sends, w.messages.receives));
  const int64_t present =
      w.present < 0 ? w.ranks : *static_cast<const int64_t*>(a.in[static_cast<size_t>(w.present)]);
  for (const RankSum& s : round.sums) {
    w.terms.clear();
    if (s.onto >= 0)
      w.terms.push_back(rank_operand(a, {static_cast<size_t>(s.onto), s.begin, s.own.bytes}));
    for (int64_t q = 0; q < std::min(present, w.ranks); ++q)
      w.terms.push_back(q == w.rank ? rank_operand(a, s.own) : scratch + w.block(q) + s.at);
    sum_terms(w.dtype, s.own.bytes / size_of(w.dtype), w.terms,
              rank_result(a, s.own.tensor, s.begin), nullptr);
  }
  return Ok{};
}

Status do_work(HostRankWork& w, Group* group, const KernelArgs& a) {
  for (const RankKept& k : w.kept)
    if (std::byte* to = rank_result(a, k.own.tensor, k.begin);
        to != rank_operand(a, k.own) && k.own.bytes > 0)
      std::memcpy(to, rank_operand(a, k.own), static_cast<size_t>(k.own.bytes));
  for (const RankRound& round : w.rounds) HONE_TRY(do_round(w, round, group, a));
  return Ok{};
}

}  // namespace

Choice rank_choice(const NodeView& n) {
  return {"ranks." + n.node.op->name, rank_workspace_bytes(n)};
}

Kernel rank_kernel(const NodeView& n, Device* device) {
  Group* group = device ? device->group() : nullptr;
  if (device) expect_rank_of(n, *device);
  auto work = std::make_shared<HostRankWork>(rank_work(n));
  const int64_t bytes = work->workspace_bytes();
  return {"ranks." + n.node.op->name, bytes, [work, group, device](const KernelArgs& a) {
            device->begin_collective(&work->name);
            Status done = do_work(*work, group, a);
            device->begin_collective(nullptr);
            if (!done.ok()) device->keep_failure(std::move(done.error().at(work->name)));
          }};
}

}  // namespace hone
