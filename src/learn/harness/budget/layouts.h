// Compares layouts of a run on several devices and chooses the fastest that fits. A layout (RankLayout) has a ZeRO
// stage, the sizes of the mesh's axes, the offloading, and whether gradient checkpointing is on.
#pragma once

#include "learn/harness/budget/ranks.h"

namespace hone {

// Parts of a layout that the user has chosen. nullopt: not chosen, so layouts with different values are compared.
struct LayoutOptions {
  std::optional<int64_t> stage;             // ZeRO stage, 0 to 3
  std::optional<int64_t> tensor, pipeline;  // number of ranks on each of these axes of the mesh
  // Number of ranks of a group that divides the states among its ranks (--mics_shard_size). 0: not chosen.
  int64_t group = 0;
};
// Reads a mesh such as "data=13,tensor=8" or "data=2,tensor=8,pipeline=4". If `data` is missing, it is the number of
// the cluster's devices divided by the other axes. Leaves `stage` and `group` unset; an empty text leaves all unset.
// Errors: H0203 the text is not a mesh; the product of the axes is not the number of devices; the size of `tensor` does
// not divide the number of devices in a machine; or there is a pipeline and the size of `tensor` is not the number of
// devices in a machine.
Result<LayoutOptions> parse_mesh(const std::string& text, const Cluster& cluster);

// The run on a part of the cluster, or on the whole cluster.
struct Scale {
  Cluster cluster;  // the devices that are used
  // The plan with the layout Layouts::best or, if that does not fit on these devices, with the same layout in stage 3.
  // plan.fits() is false if neither fits.
  RankPlan plan;
};

struct Layouts {
  std::vector<RankPlan> tried;  // at least one
  // Index into `tried`: the fastest layout that fits and that hone train can run. nullopt: no such layout fits.
  std::optional<size_t> best;
  // Index into `tried`: the fastest layout among those that are only predicted by formula (RankLayout::by_formula).
  // nullopt: none of them fits, or none is faster than `best`.
  std::optional<size_t> faster;
  // The layout `best` with smaller micro-batches, at most three of them. Empty if nothing fits.
  std::vector<RankPlan> smaller;
  // The run on one device (GPUs and TPUs), one machine, half of the machines and all machines; equal ones appear once.
  // Empty if nothing fits or the cluster is one device.
  std::vector<Scale> scales;
  // Rows per second per device of `s`, divided by the same value of the first of `scales` that fits. 1 means that the
  // speed of the run grows in proportion to the number of devices.
  double scaling(const Scale& s) const;
  // The best layout or, if none fits, the last one that was tried.
  const RankPlan& shown() const { return tried[best.value_or(tried.size() - 1)]; }
};

// Tries ZeRO stages 0 to 3, stage 3 within each machine (--mics_shard_size), and layouts by formula. A layout that
// needs several micro-batches for a batch is tried again with gradient checkpointing; a layout by formula only if it
// does not fit. If no layout that hone train can run fits, offloads more and more states until one fits. Errors: those
// of plan_rank.
Result<Layouts> compare_layouts(const RankSubject& x, const LayoutOptions& options,
                                const LinkSettings& links);

// Warnings, one sentence each: if fewer devices are faster, and if more than half of a step is spent on messages.
std::vector<std::string> layout_warnings(const Layouts& all, const Cluster& cluster);

}  // namespace hone
