// The shelf of tasks: each file x.cc that defines `Task task_x();` is one, and --task names it.
#pragma once

#include "learn/harness/task.h"

namespace hone {

std::vector<Task> all_task();  // by name of file
// The task of that name, which the shelf has.
Task find_task(const std::string& name);

}  // namespace hone
