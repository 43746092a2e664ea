// One run of a pipeline on disk: its folder, its rows in the state, and how what a step wrote becomes
// visible.
#pragma once

#include <map>
#include <memory>
#include <string>

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
  bool in_bucket() const { return run.root.find("://") != std::string::npos; }

  // Makes the folder and holds it until destroyed or the process ends. Errors: H3164, H3165.
  Status take_lock();
  // Ends what a process that was killed left running, and reads what it had reached.
  Status recover(const Pipeline& pipeline);
  // run.json: the graph and how far it is, for those who look from outside.
  Status describe(const Pipeline& pipeline);

  // True when an earlier run did the same; what it wrote is then at <step>.done.
  Result<bool> take_from_earlier(const PipelineStep& step);
  // <step>.done gets its name, its description and its row, in an order that a kill at any moment allows.
  Status commit(const PipelineStep& step);
  // The part of commit() after the folder has its name.
  Status conclude(const PipelineStep& step);

  // The text that a reference to a result means. Errors: H3161.
  Result<std::string> member_of(const StepReference& reference) const;

 private:
  Store& store_;
  PipelineState& state_;
  int lock_ = -1;

 public:
  PipelineRunRow run;
  std::map<std::string, StepRow> rows;
};

// The JSON object that a command printed: all of its output, or its last line; else null.
OrderedJson printed_result(const std::string& out);

}  // namespace hone
