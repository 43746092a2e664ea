// One run of a pipeline on disk: its folder, its rows in the state, and the publication of a step's
// files.
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

  std::string folder() const { return run.folder + "/" + run.id; }
  std::string place(const std::string& step, const char* end = "") const {
    return folder() + "/" + step + end;
  }
  std::string log_of(const std::string& step, const char* end = ".log") const {
    return folder() + "/logs/" + step + end;
  }
  bool in_bucket() const { return is_url(run.root); }

  // Creates the folder and locks it until destruction or the end of the process. Errors: H3164,
  // H3165.
  Status take_lock();
  // Ends the remains of a killed process, and reads its progress.
  Status recover(const Pipeline& pipeline);
  // Removes secrets from the output of a step whose command has ended.
  Status redact_logs(const std::string& step);
  // Writes run.json: the graph and its progress, for other programs.
  Status describe(const Pipeline& pipeline);

  // True if an earlier run did the same; its result is then at <step>.done.
  Result<bool> take_from_earlier(const PipelineStep& step);
  // Renames <step>.done and writes its description and row, in an order that survives a kill at any
  // moment.
  Status commit(const PipelineStep& step);
  // The part of commit() after the folder has its name.
  Status conclude(const PipelineStep& step);

  // The value of a reference to a result. Errors: H3161.
  Result<std::string> member_of(const StepReference& reference) const;

 private:
  Store& store_;
  PipelineState& state_;
  int lock_ = -1;

 public:
  PipelineRunRow run;
  std::map<std::string, StepRow> rows;
};

// The JSON object in a command's output: the whole output, or its last line; else null.
OrderedJson printed_result(const std::string& out);
// The member of a result, "a.b" inside another; null if it has none.
const OrderedJson* member_at(const OrderedJson& result, const std::string& member);

}  // namespace hone
