// The runs whose logs are in given folders, as rows of a table.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"
#include "base/core/table.h"

namespace hone {

struct RunRow {
  std::string log;       // file with its log
  OrderedJson run;       // RunInfo::json()
  OrderedJson end = {};  // members of the event end; null: no end yet
  int64_t attempts = 0;  // 2: --restarts restarted it once
  int64_t step = 0;
  OrderedJson progress = {};  // sums of its process: total_steps, steps, tokens, examples, seconds
  OrderedJson best = {};      // name, value and step of the best evaluation by run.best_metric
  std::vector<std::string> tags = {};
  OrderedJson metrics = {};  // the last value of each metric of log_history
  int64_t planned_bytes = -1;
  std::string last_time = {};
  int64_t first_step = -1;           // step from which its first process trained; -1: it did not
  bool ended_before = false;         // its process found a run that had ended, and trained nothing
  std::vector<RunRow> earlier = {};  // other attempts, under ids of their own: with_attempts()
  OrderedJson evaluator = {};        // `run` of the attempt that evaluated last; null: this one
  // Other runs with the name, where find_run() was given one.
  int64_t namesakes = 0;
  double begun_s() const;  // since 1970; 0: unknown
  // finished, stopped, refused or failed; without an end: running, or lost if its last line is
  // older than two minutes.
  std::string status(double now_s) const;
};

// The runs of a log, in the order of their starts. Skips lines that are not JSON, such as the last
// line after a crash.
std::vector<RunRow> runs_in_log(std::string_view text, const std::string& name);

// Adds to `rows` what further lines of their log hold, so that a log that grows is read once.
void add_log_lines(std::string_view text, const std::string& name, std::vector<RunRow>& rows);
// Gives a run these tags instead of the former ones, as a line of its log. Errors: those of the store.
Status tag_run(const RunRow& row, const std::vector<std::string>& tags);

// Levels below a folder that are searched: PROJECT/runs/RUN/train.
inline constexpr int kSearchedLevels = 4;
// Finds the logs in these folders and below them; URLs too. Errors: those of the store.
Result<std::vector<std::string>> find_run_logs(const std::vector<std::string>& folders);
// Removes the rows of an id that is in an earlier log: a pipeline copies the folder of a step that it reuses.
void remove_copies(std::vector<RunRow>& rows);
// All runs of these logs, without copies, the oldest first. Errors: those of the store.
Result<std::vector<RunRow>> find_runs(const std::vector<std::string>& folders);
// One row for all attempts of a run in an output folder: the same command typed again for a run that did not finish, a
// command that continues it from its checkpoint, and one that found nothing left to train. The row is that of the last
// attempt that did not find the run ended, with the metrics and the number of all: its evaluation is the newest one.
std::vector<RunRow> with_attempts(std::vector<RunRow> rows);
// One run by its id, its name or its output folder; the newest of several. The id of an earlier attempt gives that
// attempt alone. H3112.
Result<RunRow> find_run(const std::string& run, const std::vector<std::string>& folders);

// The initial model by the name that people know it by, else its path.
std::string model_of_run(const RunRow& row);
// The results of a run, with the last value of each metric of its log.
OrderedJson results_of(const RunRow& row);
// Facts of a run besides its results, and their texts; "": unknown.
std::vector<Column> run_columns();
std::vector<std::string> run_cells(const RunRow& row, double now_s);

}  // namespace hone
