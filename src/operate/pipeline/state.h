// Keeps the state of pipeline runs in an SQLite file, so that the state survives killed processes. Times are in seconds
// since 1970; 0: unknown.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"

struct sqlite3;

namespace hone {

// One run. `status` is "running", "finished", "failed", "stopped" or "cancelled".
struct PipelineRunRow {
  std::string id, pipeline, config_hash, root, folder, status;
  OrderedJson config = {};
  double begun_s = 0, ended_s = 0;
  std::string message = {};    // why it failed
  int64_t pid = 0;             // process that runs it
  std::string pid_start = {};  // start_of_process(pid)
};

// One step of a run. `status` is "pending", "running", "committing" (its command has succeeded, and its files are being
// recorded), "done", "failed" or "skipped".
struct StepRow {
  std::string run, name, status = "pending";
  std::string key = {};     // hash of the step's dependencies
  std::string hash = {};    // hash of its files: Artifact::hash
  OrderedJson result = {};  // the JSON object that its command printed; null: none
  int64_t attempts = 0;     // how often its command was started
  double begun_s = 0, ended_s = 0;
  std::string reused_from = {};  // the run whose result it reuses; "": none
  std::string message = {};
  int64_t pid = 0;                         // process of the running command; 0: none
  std::string pid_start = {}, token = {};  // start_of_process(pid); ChildRequest::token
};

// The recorded status of a run, but "lost" if the recorded status is "running" and the run's process no longer exists.
// The command that started a lost run continues it.
std::string status_of_run(const PipelineRunRow& run);
// The recorded status of a step, but "lost" if the recorded status is "running" and the run is lost.
std::string status_of_step(const PipelineRunRow& run, const StepRow& step);

class PipelineState {
 public:
  // Opens the file, and creates it if it is missing. Error H3164: the file cannot be used.
  static Result<std::unique_ptr<PipelineState>> open(const std::string& path);
  // Opens the file read-only. Error H3164: the file cannot be read, or another program made it.
  static Result<std::unique_ptr<PipelineState>> read(const std::string& path);
  ~PipelineState();

  // Each call is one transaction, which is on disk when the call returns. put() adds a row; it replaces a run with the
  // same id, and a step with the same run and name. Error H3164: the file cannot be read or written.
  Status put(const PipelineRunRow& run);
  Status put(const StepRow& step);
  Result<std::vector<PipelineRunRow>> runs();  // the newest first
  Result<std::optional<PipelineRunRow>> run(const std::string& id);
  Result<std::vector<StepRow>> steps(const std::string& run);
  // From all runs: the steps that are done and have this StepRow::key, the newest first.
  Result<std::vector<StepRow>> done_with_key(const std::string& key);

 private:
  explicit PipelineState(std::string path) : path_(std::move(path)) {}
  struct Query;
  Result<int64_t> connect(int flags);  // the version of its tables
  Status execute(const std::string& sql);
  Error failed(const std::string& doing) const;
  Result<std::vector<StepRow>> step_rows(const std::string& where, const std::string& value);
  Result<std::vector<PipelineRunRow>> run_rows(const std::string& where, const std::string& value);

  std::string path_;
  sqlite3* db_ = nullptr;
};

}  // namespace hone
