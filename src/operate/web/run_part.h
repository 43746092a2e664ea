// A run as JSON for the pages of hone ui: its summary, and the lines of its log sorted by kind.
#pragma once

#include "operate/monitor/run_list.h"

namespace hone {

// An object with the facts of a run, such as id, name, status, step, metrics, best, progress and tags. "metric" is
// the metric by which runs are compared (operate/registry/deciding_metric.h); "evaluated" identifies the rows on
// which it was measured (operate/registry/compare_versions.h).
OrderedJson run_summary(const RunRow& row);

// The summary, and the lines of the run's log after `from` bytes, by kind: "points" (metrics), "progress_points",
// "usage", "saves" and "lines" (the last 200 printed lines). Reads at most 4 MiB of the log. "next" is the value of
// `from` for the next call; "more" is true if more of the log can be read now. If `from` is 0, three members are added:
//   "run"            RunRow::run
//   "names"          the settings in which by_name() (operate/registry/run_names.h) replaces paths by names
//   "training_rows"  the hash of the training rows and the settings that decide them; null if they are unknown
// Errors: those of the store.
Result<OrderedJson> run_part(const RunRow& row, int64_t from);

}  // namespace hone
