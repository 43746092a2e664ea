// The messages of a round (rank_work.h), as addresses in a node's operands, results and workspace.
#pragma once

#include "engine/comm/group.h"
#include "engine/device/backend.h"
#include "engine/device/rank_work.h"

namespace hone {

// The first byte of a piece of an operand.
inline const std::byte* rank_operand(const KernelArgs& a, const RankPiece& p) {
  return static_cast<const std::byte*>(a.in[p.tensor]) + p.begin;
}
// Byte `begin` of result number `tensor`.
inline std::byte* rank_result(const KernelArgs& a, size_t tensor, int64_t begin) {
  return static_cast<std::byte*>(a.out[tensor]) + begin;
}

// The messages of one round at a time. The constructor reserves memory for any round of `work`.
class RankMessages {
 public:
  explicit RankMessages(const RankWork& work);
  // Sets sends and receives to those of `round`.
  void set(const RankRound& round, const KernelArgs& a);

  std::vector<Send> sends;
  std::vector<Receive> receives;
};

}  // namespace hone
