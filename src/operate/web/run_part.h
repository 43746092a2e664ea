// Converts a run to JSON for the pages of hone ui: a summary of the run, and the lines of its log, grouped by kind.
#pragma once

#include "operate/monitor/run_list.h"

namespace hone {

// An object with the facts of a run, such as "id", "name", "status", "step", "metrics", "best", "progress" and "tags".
// "metric" is the metric by which runs are compared (operate/registry/deciding_metric.h). "evaluated" identifies the
// rows of data on which this metric was measured (operate/registry/compare_versions.h).
OrderedJson run_summary(const RunRow& row);

// An object with the summary, and with the lines of the run's log after the first `from` bytes, grouped by kind:
// "points" (metrics), "progress_points", "usage", "saves" and "lines" (the last 200 printed lines). Reads at most 4 MiB
// of the log. "next" is the value of `from` for the next call; "more" is true if the log has more to read now. If
// `from` is 0, the object has three more members:
//   "run"            RunRow::run
//   "names"          the settings in which by_name() (operate/registry/run_names.h) replaces paths by names
//   "training_rows"  the hash of the training rows and the settings that decide them; null if they are unknown
// Errors: those of the store.
Result<OrderedJson> run_part(const RunRow& row, int64_t from);

}  // namespace hone
