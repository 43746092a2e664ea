// All tasks. A file x.cc of this folder that defines `Task task_x();` adds a task, and `--task x` chooses it.
#pragma once

#include "learn/harness/task.h"

namespace hone {

std::vector<Task> all_task();  // in the order of the file names
// The task of this name, which must exist.
Task find_task(const std::string& name);

}  // namespace hone
