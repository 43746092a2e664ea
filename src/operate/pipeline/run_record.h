// Records one run of a pipeline: its folder on disk, its rows in the SQLite file (state.h), and, if pipeline_root is a
// bucket, the copies of its steps' files there. runner.h lists the files.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/core/url.h"
#include "base/store/store.h"
#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/state.h"

namespace hone {

class RunRecord {
 public:
  RunRecord(Store& store, PipelineState& state, PipelineRunRow run)
      : store_(store), state_(state), run(std::move(run)) {}
  ~RunRecord();
  RunRecord(const RunRecord&) = delete;
  RunRecord& operator=(const RunRecord&) = delete;

  // The run's folder on this machine.
  std::string folder() const { return run.folder + "/" + run.id; }
  // The path of a step's folder. With `end`, such as ".part", ".done" or ".json": the path of a file or folder beside
  // it.
  std::string place(const std::string& step, const char* end = "") const {
    return folder() + "/" + step + end;
  }
  // The path of a step's log. With `end` ".out": the path of its standard output.
  std::string log_of(const std::string& step, const char* end = ".log") const {
    return folder() + "/logs/" + step + end;
  }
  bool in_bucket() const { return is_url(run.root); }

  // The errors of the functions below include those of the store and of PipelineState.

  // Creates the run's folder, and locks it until this object is destroyed or the process ends. Errors: H3164 the folder
  // cannot be used; H3165 another process runs this run.
  Status take_lock();
  // Reads the progress of the steps into `rows`, and ends the steps' commands that a killed process of this run left
  // running.
  Status recover(const Pipeline& pipeline);
  // Removes secrets from the log and the output of a step whose command has ended.
  Status redact_logs(const std::string& step);
  // Writes run.json, with the steps, their dependencies and progress, for other programs.
  Status describe(const Pipeline& pipeline);

  // Reuses the result of this step from an earlier run in which it had the same dependencies: links its files into
  // <step>.done and returns true. Returns false if there is no such run.
  Result<bool> take_from_earlier(const PipelineStep& step);
  // Records a step as done: renames its folder from <step>.done to <step>, writes <step>.json, and updates the step's
  // row, in an order that survives a kill at any moment.
  Status commit(const PipelineStep& step);
  // Does the part of commit() after the folder was renamed.
  Status conclude(const PipelineStep& step);

  // The value of a reference to a member of a step's result. Error H3161: the step printed no such member, or the
  // member holds a secret.
  Result<std::string> member_of(const StepReference& reference) const;

 private:
  Store& store_;
  PipelineState& state_;
  int lock_ = -1;

 public:
  PipelineRunRow run;
  std::map<std::string, StepRow> rows;
};

// The JSON object that a command printed: its whole output `out`, else the last line of `out`. Null if neither is a
// JSON object.
OrderedJson printed_result(const std::string& out);
// A member of a result; "a.b" is member b of the object a. Returns nullptr if the member is missing or null.
const OrderedJson* member_at(const OrderedJson& result, const std::string& member);

}  // namespace hone
