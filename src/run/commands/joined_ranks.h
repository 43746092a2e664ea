// Joins this process to the other ranks of a training run (base/ranks/control.h), before all other work of the run.
#pragma once

#include <memory>

#include "base/ranks/control.h"
#include "engine/comm/group.h"
#include "learn/harness/task.h"
#include "learn/train/run_ranks.h"

namespace hone {

class JoinedRanks {
 public:
  // Reads the environment variables that a launcher has set. If the run has one rank, returns at once. If it has
  // several ranks, joins the run and sets TaskSettings::ranks; the settings and the program must equal those of rank 0.
  // Ranks other than 0 then log only errors. On GPUs, the rank with the local number i of a host uses GPU i of the
  // host, if the host has enough GPUs. Errors: those of read_world() and Control::open() (H0122 the settings differ),
  // and of the communication library.
  static Result<std::unique_ptr<JoinedRanks>> join(const Task& task, const Schema& schema);
  // Resets TaskSettings::ranks to a run of one rank.
  ~JoinedRanks();

  bool alone() const { return control_ == nullptr; }  // the run has one rank
  // Tells the other ranks how this rank ended. Returns `status`, or the error of another rank if this error ended the
  // run.
  Result<int> end(Result<int> status);

 private:
  explicit JoinedRanks(std::shared_ptr<TaskSettings> settings) : settings_(std::move(settings)) {}
  std::shared_ptr<TaskSettings> settings_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<Group> group_;
};

}  // namespace hone
