// Runs the command of a step as a process, never two at the same time.
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
  std::map<std::string, std::string> environment;  // added to ours
  std::string out_file;                            // standard output; made empty first
  std::string log_file;                            // standard error is added to it; "": it is ours
  std::string token;                               // in its environment as HONE_PIPELINE_STEP
  int death_signal;  // the signal that the command gets when this process dies
  // Folder that is renamed as soon as the command ends with status 0, also when this process is dead
  // by then; "": none.
  std::string part = {}, done = {};
};

// Starts the command in a process group of its own, below a process that waits for it and renames
// `part`. `record` is called with the number of that process before the command begins, and nothing
// begins when that fails. Errors: H0004, those of record.
Result<Child> start_child(const ChildRequest& request, const std::function<Status(pid_t)>& record);

void signal_group(pid_t pid, int signal);

// Ends the remains of a dead process, and returns when none is alive: the process with this number
// and start, and processes of its group with the token. Sends SIGTERM, and SIGKILL after
// `patience_s`. True if there were any.
bool end_leftovers(int64_t pid, const std::string& start, const std::string& token,
                   double patience_s);

}  // namespace hone
