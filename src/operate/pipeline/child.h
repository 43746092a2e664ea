// Runs the command of a pipeline step as a process, so that after a crash of hone the same command never runs twice at
// the same time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/core/child.h"
#include "base/core/process_id.h"

namespace hone {

struct ChildRequest {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // variables to add to this process's environment
  std::string out_file;                            // file for standard output; emptied first
  // File to append standard error to; "": it is inherited.
  std::string log_file;
  // Identifies the step's processes: the value of the command's environment variable HONE_PIPELINE_STEP.
  std::string token;
  int death_signal;  // signal that the command gets when this process dies
  // The folder `part` is renamed to `done` as soon as the command ends with status 0, even if this process is dead by
  // then. "": nothing is renamed.
  std::string part = {}, done = {};
};

// Starts a guard process in a process group of its own. The guard runs the command, waits for it and renames `part`.
// `record` is called with the guard's process id before the command starts; if it fails, the command does not start.
// Errors: H0004 the process cannot be started; those of `record`.
Result<Child> start_child(const ChildRequest& request, const std::function<Status(pid_t)>& record);

// Sends a signal to the process group `pid`.
void signal_group(pid_t pid, int signal);

// Ends what is left of a step whose hone process died: the guard process `pid` that started at `start`
// (start_of_process()), and the processes of its group with the token. Sends SIGTERM, and SIGKILL after `patience_s`
// seconds. Waits until none of them is alive. Returns true if one of them was alive at first.
bool end_leftovers(int64_t pid, const std::string& start, const std::string& token,
                   double patience_s);

}  // namespace hone
