// Chooses a run's placement: the memory in which its values are kept, and whether gradient checkpointing is on. hone
// plans the run with each placement and takes the fastest that fits. The choice does not change results.
#pragma once

#include "learn/harness/budget/memory.h"

namespace hone {

struct Placement {
  // Values of --offload_optimizer_device, --offload_gradient_device, --offload_param_device and
  // --offload_activation_device: "none", "cpu" or "nvme".
  std::string optimizer = "none", gradient = "none", param = "none", activation = "none";
  bool gradient_checkpointing = false;

  static Placement of(const TaskSettings& s);  // the placement that the settings give
  void put_into(TaskSettings& s) const;        // sets the settings to this placement
  // The flags that change `base` to this placement, as on a command line; "": none is needed.
  std::string flags(const Placement& base) const;
  std::string flags() const { return flags(Placement{}); }  // flags that differ from the defaults
  bool operator==(const Placement&) const = default;
};

// A placement with the largest micro-batch that fits.
struct TriedPlacement {
  Placement how;
  Fit fit;             // fit.rows is 0 if the run does not fit
  Needs needs;         // memory that fit.plan needs
  double seconds = 0;  // predicted seconds of an optimizer step; 0: the run does not fit
  Recomputed again;    // the recomputed nodes
  // For the user: "the fastest that fits", "0.2 s slower", or the limits that the run exceeds.
  std::string why;
};
struct Placements {
  std::vector<TriedPlacement> tried;  // the first one is that of the given settings
  std::optional<size_t> best;         // index into `tried`; nullopt: none fits
};

struct PlacementSearch {
  const TaskModel& model;
  const Backend& backend;
  ArenaLimits limits;
  Speeds speeds = {};
  int64_t wanted_rows = 1;         // rows of a batch on this rank
  std::optional<Split> keep = {};  // the split of the run to resume; nullopt: a new run
  // Returns the shapes of the programs of `m`, which has the settings of a placement; see ShapesOf.
  std::function<RunShapes(const TaskModel& m, int64_t rows, bool whole)> shapes;
  // True: stop at the first placement that fits. Placements with few changed settings are tried first.
  bool first_that_fits = false;
};

// Tries the given settings, then gradient checkpointing, then more and more offloading. Stops once all rows of a batch
// fit without recomputing: more offloading or recomputing can only be slower. Errors: those of fit_run.
Result<Placements> try_placements(const PlacementSearch& search);

// Predicts the seconds of an optimizer step: of its micro-batches, all in the largest shape, and of its update.
// `programs`: the programs of the run (run_programs). `micro_batches`: number of micro-batches of the step.
double step_seconds(std::span<const Program> programs, double micro_batches, const Speeds& speeds);
// The number of micro-batches of `rows` rows in an optimizer step, which may be a fraction. `wanted_rows`: rows of a
// batch on this rank; a step has gradient_accumulation_steps batches.
double micro_batches_of(const TaskSettings& s, int64_t wanted_rows, int64_t rows);

// A table as text: a header line, then a line for each tried placement with its rows, bytes on device, host and disk,
// seconds of a step, flags, and TriedPlacement::why.
std::string placements_table(const Placements& p);

// A copy of the task with a settings object of its own, which has the placement `how`.
Task placed(const Task& task, const Placement& how);

}  // namespace hone
