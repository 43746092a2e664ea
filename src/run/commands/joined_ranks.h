// The ranks of a training run: joins them, before anything else of the run.
#pragma once

#include <memory>

#include "base/ranks/control.h"
#include "engine/comm/group.h"
#include "learn/harness/task.h"
#include "learn/train/run_ranks.h"

namespace hone {

class JoinedRanks {
 public:
  // Reads the launcher's variables. With several ranks it joins the run, refuses settings and programs
  // that differ from those of rank 0, and sets `ranks` of the task's settings; ranks but 0 then log
  // errors alone. A rank sees one GPU of its host, the one of its number, if there are enough. Errors:
  // those of base/ranks and of the engine of messages.
  static Result<std::unique_ptr<JoinedRanks>> join(const Task& task, const Schema& schema);
  // Restores `ranks` of the settings.
  ~JoinedRanks();

  bool alone() const { return control_ == nullptr; }
  // Tells the others how this rank ends, and returns the error that ended the run.
  Result<int> end(Result<int> status);

 private:
  explicit JoinedRanks(std::shared_ptr<TaskSettings> settings) : settings_(std::move(settings)) {}
  std::shared_ptr<TaskSettings> settings_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<Group> group_;
};

}  // namespace hone
