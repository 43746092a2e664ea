// shard: weights are states of this rank's rows; each is gathered from all ranks just before it is
// used, and freed after (stage 3 of ZeRO).
//
//   state "w" %w : f32[R,C]            state "w[b:e]" %w : f32[e-b,C] {shard_of="w", rows=[b,R,b,e]}
//   %5 = linear(%4, %w)           ->   %6 = all_gather(%w) {rows=[R]} lane comm     one stay earlier
//   ...                                %7 = wait(%6)
//   %8 = slice(%w) {begin=b, end=e}    %5 = linear(%4, %7)
//   %9 = adamw(%8, ..)                 %9 = adamw(%w, ..)
//   %10 = wait(all_gather(%9))
//   next %w = %10                      next %w = %9
//
// A weight comes for each stay: the nodes that use it, with at most kStayGap others between two of
// them, those of the update left out. Weights of stays that begin within kStayGap nodes come
// together, at most kGatherBytes of them, while the nodes of the stay before compute. Placement: no
// value changes. All programs of a run take the same Sharding; what reads a weight's new version
// beside the other ranks (compute_copies) cannot be in them. After recompute and schedule.
#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

inline constexpr int64_t kGatherBytes = int64_t{64} << 20;

struct Sharding {
  Share share = {};
  // Weights of fewer elements stay whole (ZeRO's persistence threshold), and so do those of fewer
  // units than ranks.
  int64_t least_elements = 0;
  std::set<std::string> whole = {};           // that stay whole too
  std::map<std::string, int64_t> units = {};  // rows that stay together, by weight; else 1
  bool any() const { return !share.alone(); }
  bool shards(const State& state, const Type& type) const;
  RowRange held(const std::string& weight, int64_t rows) const;
};

Result<bool> shard(Program& p, const Sharding& how);

}  // namespace hone
