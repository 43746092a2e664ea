// Compares layouts of a run on several devices and chooses the fastest that fits. A layout is the ZeRO stage, the axes
// of the mesh, offloading and gradient checkpointing (RankLayout).
#pragma once

#include "learn/harness/budget/ranks.h"

namespace hone {

// Parts of a layout that the user has chosen. none: compare all values.
struct LayoutOptions {
  std::optional<int64_t> stage;             // ZeRO stage, 0 to 3
  std::optional<int64_t> tensor, pipeline;  // ranks on this axis of the mesh
  // Ranks of a group that divides the states among its ranks (--mics_shard_size). 0: not chosen.
  int64_t group = 0;
};
// Reads a mesh such as "data=13,tensor=8" or "data=2,tensor=8,pipeline=4". If `data` is missing, it is the number of
// the cluster's devices divided by the other axes. Leaves `stage` and `group` unset; an empty text leaves all unset.
// Errors: H0203 the text is not a mesh, its product is not the number of devices, `tensor` does not divide the devices
// of a machine, or `tensor` is not all devices of a machine although there is a pipeline.
Result<LayoutOptions> parse_mesh(const std::string& text, const Cluster& cluster);

// The run on another number of devices.
struct Scale {
  Cluster cluster;
  // The best layout of the whole cluster or, if that does not fit here, stage 3. fit.rows is 0 if neither fits.
  RankPlan plan;
};

struct Layouts {
  std::vector<RankPlan> tried;  // at least one
  // Index into `tried`: the fastest layout that fits and that hone train can run. none: no such layout fits.
  std::optional<size_t> best;
  // Index into `tried`: the fastest layout that is only predicted by formula (RankLayout::by_formula), if it is
  // faster than `best`.
  std::optional<size_t> faster;
  std::vector<RankPlan> smaller;  // the layout `best` with smaller micro-batches
  std::vector<Scale> scales;      // one device, one machine, half of the machines, all of them
  // Rows per second and device of `s`, divided by those of the first scale that fits: 1 if speed grows in proportion
  // to the number of devices.
  double scaling(const Scale& s) const;
  // The best layout or, if none fits, the last one that was tried.
  const RankPlan& shown() const { return tried[best.value_or(tried.size() - 1)]; }
};

// Tries ZeRO stages 0 to 3, stage 3 within each machine (--mics_shard_size), and layouts by formula. A layout is tried
// again with gradient checkpointing if it needs several micro-batches for a batch. If no layout fits, offloads more and
// more states until one fits. Errors: those of plan_rank.
Result<Layouts> compare_layouts(const RankSubject& x, const LayoutOptions& options,
                                const LinkSettings& links);

// Warnings, one sentence each: fewer devices would be faster, or most of a step is spent on messages.
std::vector<std::string> layout_warnings(const Layouts& all, const Cluster& cluster);

}  // namespace hone
