// Finds the training runs whose logs are in given folders, and reads each as a row of a table.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"
#include "base/core/table.h"

namespace hone {

struct RunRow {
  std::string log;       // path or URL of the run's log, hone_log.jsonl
  OrderedJson run;       // RunInfo::json()
  OrderedJson end = {};  // members of the log's event "end"; null: the run has not ended
  int64_t attempts = 0;  // how often the run was started: 2 after one restart
  int64_t step = 0;      // the last optimizer step in the log
  // Totals of the last process: {"total_steps", "steps", "tokens", "examples", "seconds"}; null: none.
  OrderedJson progress = {};
  // The best evaluation, by run["best_metric"]: {"name", "value", "step"}; null: none.
  OrderedJson best = {};
  std::vector<std::string> tags = {};
  OrderedJson metrics = {};    // the last value of each metric of log_history
  int64_t planned_bytes = -1;  // memory of the run's plan; -1: unknown
  std::string last_time = {};  // time of the last line, UTC
  // The step at which training started or continued; -1: it has not started.
  int64_t first_step = -1;
  // True: the process found that the run had already ended, and trained nothing.
  bool ended_before = false;
  std::vector<RunRow> earlier = {};  // the other attempts of the run, filled by with_attempts()
  // `run` of the attempt that evaluated last; null: this attempt.
  OrderedJson evaluator = {};
  // If find_run() was given a name: the number of other runs with this name.
  int64_t namesakes = 0;
  double begun_s() const;  // seconds since 1970; 0: unknown
  // "finished", "stopped", "refused" or "failed" (RunEnd::status); without an end "running", or "lost" if the last line
  // is older than two minutes at `now_s`, in seconds since 1970.
  std::string status(double now_s) const;
};

// The runs in the text of a log, in the order of their starts. `name` is the log's path, for RunRow::log. Skips lines
// that are not JSON, such as an incomplete last line after a crash.
std::vector<RunRow> runs_in_log(std::string_view text, const std::string& name);

// Updates `rows` with `text`, the lines that were added to the log `name` since the last call: a growing log is read
// only once.
void add_log_lines(std::string_view text, const std::string& name, std::vector<RunRow>& rows);
// Replaces the tags of a run, by appending a line to its log. Errors: those of the store.
Status tag_run(const RunRow& row, const std::vector<std::string>& tags);

// The number of levels below a folder that are searched for logs, as in PROJECT/runs/RUN/train.
inline constexpr int kSearchedLevels = 4;
// The paths of the logs in these folders or URLs and below them. Errors: those of the store.
Result<std::vector<std::string>> find_run_logs(const std::vector<std::string>& folders);
// Removes copies of runs: rows with the run id of an earlier row but another log. Copies exist because a pipeline
// copies the folder of a step that it reuses.
void remove_copies(std::vector<RunRow>& rows);
// All runs of the logs in these folders, without copies, the oldest first. Errors: those of the store.
Result<std::vector<RunRow>> find_runs(const std::vector<std::string>& folders);
// Joins the rows that are attempts of the same run in the same output folder: the same command typed again for a run
// that did not finish, a command that continues the run from its checkpoint, and a command that found nothing left to
// train. The joined row is the last attempt that did not find the run ended; it has the metrics and the number of all
// attempts, and the newest evaluation.
std::vector<RunRow> with_attempts(std::vector<RunRow> rows);
// Finds a run by its id, its name or its output folder, with its attempts joined; the newest run if several fit. The id
// of an earlier attempt gives that attempt alone. Errors: H3112 there is no such run; those of the store.
Result<RunRow> find_run(const std::string& run, const std::vector<std::string>& folders);

// The initial model by the name that people know, such as "t5-small", else by its path.
std::string model_of_run(const RunRow& row);
// The results of a run (all_results.json), and the last value of each metric in its log.
OrderedJson results_of(const RunRow& row);
// run_columns(): the columns of the table of runs, without those of metrics. run_cells(): the cells of a run in these
// columns; a cell is "" if its value is unknown. `now_s` is for RunRow::status().
std::vector<Column> run_columns();
std::vector<std::string> run_cells(const RunRow& row, double now_s);

}  // namespace hone
