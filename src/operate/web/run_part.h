// A run as the pages read it: its summary, and the content of its log by kind.
#pragma once

#include "operate/monitor/run_list.h"

namespace hone {

// id, name, status, step, metrics, the metric that decides, the facts that decide the rows that it is of, best, progress, tags and other facts of a run.
OrderedJson run_summary(const RunRow& row);

// The summary, the rows of the training at the log's start (`training_rows`: their hash and the settings that decide them, null
// if unknown), and the points, progress, usage, saves and lines of its log after `from` bytes; at most 4 MiB of the
// log. `next`: where the following part begins; `more`: whether there is one now. Errors: those of the store.
Result<OrderedJson> run_part(const RunRow& row, int64_t from);

}  // namespace hone
