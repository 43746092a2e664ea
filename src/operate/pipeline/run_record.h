// Records one run of a pipeline on disk: its folder, its rows in the database (state.h), and the copies of its steps'
// files in a bucket. runner.h lists the files.
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
  // The path of a step's folder, or with `end` of a file or folder beside it: ".part", ".done", ".json".
  std::string place(const std::string& step, const char* end = "") const {
    return folder() + "/" + step + end;
  }
  // The path of a step's log, or with `end` ".out" of its standard output.
  std::string log_of(const std::string& step, const char* end = ".log") const {
    return folder() + "/logs/" + step + end;
  }
  bool in_bucket() const { return is_url(run.root); }

  // The errors of the functions below include those of the store and of PipelineState.

  // Creates the run's folder, and locks it until this object is destroyed or the process ends. Errors: H3164 the folder
  // cannot be used; H3165 another process runs this run.
  Status take_lock();
  // Ends the commands that a killed process of this run left, and reads the progress of the steps into `rows`.
  Status recover(const Pipeline& pipeline);
  // Removes secrets from the log and the output of a step whose command has ended.
  Status redact_logs(const std::string& step);
  // Writes run.json, with the steps, their dependencies and progress, for other programs.
  Status describe(const Pipeline& pipeline);

  // Reuses the result of an earlier run whose step has the same dependencies: puts its files at <step>.done and returns
  // true. False: there is none.
  Result<bool> take_from_earlier(const PipelineStep& step);
  // Records a step whose files are at <step>.done as done: renames the folder to <step>, writes <step>.json and the
  // row, in an order that survives a kill at any moment.
  Status commit(const PipelineStep& step);
  // Does the part of commit() after the folder was renamed.
  Status conclude(const PipelineStep& step);

  // The value of a reference to a member of a step's result. Error H3161: the step printed no such member, or it
  // holds a secret.
  Result<std::string> member_of(const StepReference& reference) const;

 private:
  Store& store_;
  PipelineState& state_;
  int lock_ = -1;

 public:
  PipelineRunRow run;
  std::map<std::string, StepRow> rows;
};

// The JSON object that a command printed: its whole output `out`, or the last line of it. Null if neither is an object.
OrderedJson printed_result(const std::string& out);
// A member of a result; "a.b" is member b of the object a. A null pointer if it is missing or null.
const OrderedJson* member_at(const OrderedJson& result, const std::string& member);

}  // namespace hone
