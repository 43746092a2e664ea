// Where a run keeps what and what it computes again: the choices that change no result, each tried by
// its plan, and the one that takes the least time among those that fit.
#pragma once

#include "learn/harness/memory.h"

namespace hone {

// Settings that change no result.
struct Placement {
  std::string optimizer = "none", gradient = "none", param = "none",
              activation = "none";  // of --offload_*_device
  bool gradient_checkpointing = false;

  static Placement of(const TaskSettings& s);
  void put_into(TaskSettings& s) const;
  // The flags that differ from those of `base`; "" when none does.
  std::string flags(const Placement& base) const;
  std::string flags() const { return flags(Placement{}); }  // of all that is not the default
  bool operator==(const Placement&) const = default;
};

// One of the placements with the largest micro-batch that fits.
struct TriedPlacement {
  Placement how;
  Fit fit;             // rows 0: it does not fit
  Needs needs;         // of fit.plan
  double seconds = 0;  // of an optimizer step, as predicted; 0: it does not fit
  Recomputed again;
  std::string why;  // why it fails or wins, in words
};
struct Placements {
  std::vector<TriedPlacement> tried;  // the settings as they are come first
  std::optional<size_t> best;         // none fits
};

struct PlacementSearch {
  const TaskModel& model;
  const Backend& backend;
  ArenaLimits limits;
  Speeds speeds = {};
  int64_t wanted_rows = 1;         // of a batch
  std::optional<Split> keep = {};  // of the run that continues
  // The shapes of the model's programs, whose settings are those of a placement.
  std::function<RunShapes(const TaskModel& m, int64_t rows, bool whole)> shapes;
  bool first_that_fits = false;  // ends there: the fewest settings that differ
};

// The placements in the order of how much they change: as it is, with gradient checkpointing, then
// with more and more elsewhere. What cannot be faster than one that fits is not tried: where all rows
// of a batch fit at once and nothing is computed again, more that is elsewhere or computed again only
// takes time.
Result<Placements> try_placements(const PlacementSearch& search);

// Seconds of an optimizer step of these programs: its micro-batches of `rows` rows and its update. Of
// several shapes the largest.
double step_seconds(std::span<const Program> programs, double micro_batches, const Speeds& speeds);
// Micro-batches of an optimizer step.
double micro_batches_of(const TaskSettings& s, int64_t wanted_rows, int64_t rows);

// A table of what was tried, a line each, with a head.
std::string placements_table(const Placements& p);

// The task with the settings of a placement.
Task placed(const Task& task, const Placement& how);

}  // namespace hone
