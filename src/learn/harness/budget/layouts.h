// Compares the layouts of a run on several devices, and chooses the fastest that fits.
#pragma once

#include "learn/harness/budget/ranks.h"

namespace hone {

// Parts of a layout that the user decides.
struct LayoutOptions {
  std::optional<int64_t> stage;             // of ZeRO
  std::optional<int64_t> tensor, pipeline;  // of the mesh
  int64_t group = 0;                        // ranks that cut states (--mics_shard_size); 0: any
};
// Reads a mesh such as "data=13,tensor=8" or "data=2,tensor=8,pipeline=4" for this number of ranks; without data it follows from the
// others. Errors: H0203.
Result<LayoutOptions> parse_mesh(const std::string& text, const Cluster& cluster);

// The same run on fewer machines, or one device.
struct Scale {
  Cluster cluster;
  RankPlan plan;  // the fastest layout that fits; rows 0: none
};

struct Layouts {
  std::vector<RankPlan> tried;    // at least one
  std::optional<size_t> best;     // of those that hone train runs
  std::optional<size_t> faster;   // by formula, if it is faster than the best
  std::vector<RankPlan> smaller;  // the best with smaller micro-batches
  std::vector<Scale> scales;      // one device, one machine, half of them, all
  // Rows a second of a scale by those of the first that fits, each by its devices: 1 if devices cost nothing.
  double scaling(const Scale& s) const;
  const RankPlan& shown() const { return tried[best.value_or(tried.size() - 1)]; }
};

// Stages 0 to 3, stage 3 in each machine (--mics_shard_size), with gradient checkpointing if a batch needs several micro-batches without, and
// layouts by formula. If none fits, states leave the device, a bit more each time, up to the first
// that fits.
Result<Layouts> compare_layouts(const RankSubject& x, const LayoutOptions& options,
                                const LinkSettings& links);

// Sentences about a run that is slower than it looks.
std::vector<std::string> layout_warnings(const Layouts& all, const Cluster& cluster);

}  // namespace hone
