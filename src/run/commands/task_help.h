// Help for the flags that only one task has, for commands with --task.
#pragma once

#include <string>
#include <vector>

#include "learn/harness/task.h"

namespace hone {

// The flag that names the task: "task" or "preset".
std::string flag_of(const Task& task);
// The flags of each task. `command`: "hone train".
std::string tasks_help(const std::string& command, const std::vector<Task>& tasks);
// The flags of each task as Markdown. Only the page of hone train lists them; the pages of other
// commands refer to it.
std::string tasks_markdown(const std::string& command, const std::vector<Task>& tasks);

}  // namespace hone
