// Help for the flags that only one task has, for commands with --task.
#pragma once

#include <string>
#include <vector>

#include "learn/harness/task.h"
#include "run/manual/sheet.h"

namespace hone {

// The flag that names the task: "task" or "preset".
std::string flag_of(const Task& task);
// The flags of each task, or how to see those of one. `command`: "hone train".
std::string tasks_help(const std::string& command, const std::vector<Task>& tasks, bool all);
void add_task_flags(const std::vector<Task>& tasks, CommandSheet& sheet);
// The flags of each task as Markdown. Only the page of hone train lists them; the pages of other
// commands refer to it.
std::string tasks_markdown(const std::string& command, const std::vector<Task>& tasks);

}  // namespace hone
