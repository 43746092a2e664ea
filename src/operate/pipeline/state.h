// The state of pipeline runs in an SQLite file; it survives killed processes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"

struct sqlite3;

namespace hone {

// running, finished, failed, stopped, cancelled
struct PipelineRunRow {
  std::string id, pipeline, config_hash, root, folder, status;
  OrderedJson config = {};
  double begun_s = 0, ended_s = 0;
  std::string message = {};
  int64_t pid = 0;
  std::string pid_start = {};
};

// pending, running, done, failed, skipped
struct StepRow {
  std::string run, name, status = "pending";
  std::string key = {};   // hash of the step's dependencies
  std::string hash = {};  // of its files
  OrderedJson result = {};
  int64_t attempts = 0;
  double begun_s = 0, ended_s = 0;
  std::string reused_from = {};  // the run whose result it reuses
  std::string message = {};
  int64_t pid = 0;  // of the running command
  std::string pid_start = {}, token = {};
};

// The recorded status; "lost" if the process of the run is gone: the same command continues the run. Nothing runs a
// running step of a lost run, so that is lost too.
std::string status_of_run(const PipelineRunRow& run);
std::string status_of_step(const PipelineRunRow& run, const StepRow& step);

class PipelineState {
 public:
  // Creates the file if it is missing. Errors: H3164.
  static Result<std::unique_ptr<PipelineState>> open(const std::string& path);
  // Opens it read-only. H3164, also for a file of another program.
  static Result<std::unique_ptr<PipelineState>> read(const std::string& path);
  ~PipelineState();

  // Each call is one transaction, on disk when it returns. Errors: H3164.
  Status put(const PipelineRunRow& run);
  Status put(const StepRow& step);
  Result<std::vector<PipelineRunRow>> runs();  // the newest first
  Result<std::optional<PipelineRunRow>> run(const std::string& id);
  Result<std::vector<StepRow>> steps(const std::string& run);
  // Finished steps with this key, the newest first.
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
