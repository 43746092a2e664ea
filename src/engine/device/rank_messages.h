// The messages of a round of rank_work.h, as bytes of a node's operands, results and workspace.
#pragma once

#include "engine/comm/group.h"
#include "engine/device/backend.h"
#include "engine/device/rank_work.h"

namespace hone {

inline const std::byte* rank_operand(const KernelArgs& a, const RankPiece& p) {
  return static_cast<const std::byte*>(a.in[p.tensor]) + p.begin;
}
inline std::byte* rank_result(const KernelArgs& a, size_t tensor, int64_t begin) {
  return static_cast<std::byte*>(a.out[tensor]) + begin;
}

// Lists that the rounds of `work` use again.
class RankMessages {
 public:
  explicit RankMessages(const RankWork& work);
  void set(const RankRound& round, const KernelArgs& a);

  std::vector<Send> sends;
  std::vector<Receive> receives;
};

}  // namespace hone
