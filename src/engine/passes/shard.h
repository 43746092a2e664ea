// shard: each rank holds only some rows of a weight. The whole weight is gathered from all ranks just before it is
// used, and freed afterwards (ZeRO stage 3).
//
//   state "w" %w : f32[R,C]            state "w[b:e]" %w : f32[e-b,C] {shard_of="w", rows=[b,R,b,e]}
//   %5 = linear(%4, %w)           ->   %6 = all_gather(%w) {rows=[R]} lane comm     one stay (see below) earlier
//   ...                                %7 = wait(%6)
//   %8 = slice(%w) {begin=b, end=e}    %5 = linear(%4, %7)
//   %9 = adamw(%8, ..)                 %9 = adamw(%w, ..)
//   %10 = wait(all_gather(%9))
//   next %w = %10                      next %w = %9
//
// In the new state, shard_of="w" and rows=[b,R,b,e] mean: the state's rows begin at row b of the R rows of w, and all
// states of this program together hold the rows b to e - 1 of w (ShardSpec).
//
// A stay is a sequence of nodes that use the weight, each at most kStayGap (offload.h) nodes after the one before.
// Nodes of the update are not in stays. The weight is gathered for each stay. Weights whose stays begin within
// kStayGap nodes are gathered together, up to kGatherBytes, while the nodes of the stay before run. Placement: no value
// changes. All programs of a run must get the same Sharding. Do not run compute_copies on these programs: it would read
// all rows of a weight's new version. Run this pass after recompute and schedule.
#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/graph/graph.h"

namespace hone {

// The most bytes of weights gathered together.
inline constexpr int64_t kGatherBytes = int64_t{64} << 20;

struct Sharding {
  Share share = {};
  // Weights with fewer elements stay whole on each rank (ZeRO's persistence threshold). So do weights with fewer units
  // (see `units`) than ranks.
  int64_t least_elements = 0;
  std::set<std::string> whole = {};  // names of further weights that stay whole
  // By weight: rows of a unit, which stays on one rank; default 1.
  std::map<std::string, int64_t> units = {};
  bool any() const { return !share.alone(); }
  // Whether the rows of the state, a weight of this type, are divided.
  bool shards(const State& state, const Type& type) const;
  // The rows that this rank holds of the weight, which has `rows` rows.
  RowRange held(const std::string& weight, int64_t rows) const;
};

Result<bool> shard(Program& p, const Sharding& how);

}  // namespace hone
