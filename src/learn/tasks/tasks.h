// The shelf of tasks: each file x.cc that defines `Task task_x();` is one, and --task names it.
#pragma once

#include "learn/harness/task.h"

namespace hone {

std::vector<Task> all_task();  // by name of file

}  // namespace hone
