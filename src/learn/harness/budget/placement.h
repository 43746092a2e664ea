// Chooses where a run keeps its values and what it recomputes. No choice changes a result; each is
// planned, and the fastest that fits wins.
#pragma once

#include "learn/harness/budget/memory.h"

namespace hone {

// Settings that change no result.
struct Placement {
  std::string optimizer = "none", gradient = "none", param = "none",
              activation = "none";  // of --offload_*_device
  bool gradient_checkpointing = false;

  static Placement of(const TaskSettings& s);
  void put_into(TaskSettings& s) const;
  // The flags that differ from `base`; "" if none does.
  std::string flags(const Placement& base) const;
  std::string flags() const { return flags(Placement{}); }  // flags that differ from the defaults
  bool operator==(const Placement&) const = default;
};

// A placement with the largest micro-batch that fits.
struct TriedPlacement {
  Placement how;
  Fit fit;             // rows 0: it does not fit
  Needs needs;         // of fit.plan
  double seconds = 0;  // predicted, of an optimizer step; 0: it does not fit
  Recomputed again;
  std::string why;  // reason why it fails or wins
};
struct Placements {
  std::vector<TriedPlacement> tried;  // the given settings come first
  std::optional<size_t> best;         // none fits
};

struct PlacementSearch {
  const TaskModel& model;
  const Backend& backend;
  ArenaLimits limits;
  Speeds speeds = {};
  int64_t wanted_rows = 1;         // of a batch
  std::optional<Split> keep = {};  // of the run that is resumed
  // Shapes of the model's programs under a placement's settings.
  std::function<RunShapes(const TaskModel& m, int64_t rows, bool whole)> shapes;
  bool first_that_fits = false;  // stop there: the fewest changed settings
};

// Tries placements in the order of their changes: as it is, with gradient checkpointing, then with
// more and more offloaded. Stops once a whole batch fits without recompute: more offload or
// recompute can only be slower.
Result<Placements> try_placements(const PlacementSearch& search);

// Seconds of an optimizer step of these programs: its micro-batches of `rows` rows and its update.
// With several shapes, of the largest.
double step_seconds(std::span<const Program> programs, double micro_batches, const Speeds& speeds);
// Micro-batches of an optimizer step.
double micro_batches_of(const TaskSettings& s, int64_t wanted_rows, int64_t rows);

// A table of the tried placements, one line each, with a head.
std::string placements_table(const Placements& p);

// The task with the settings of a placement.
Task placed(const Task& task, const Placement& how);

}  // namespace hone
