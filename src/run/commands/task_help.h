// Help for the flags that only some tasks have, for commands with --task.
#pragma once

#include <string>
#include <vector>

#include "learn/harness/task.h"
#include "run/manual/sheet.h"

namespace hone {

// The flag that names the task: "task", or "preset" for a preset.
std::string flag_of(const Task& task);
// `all` true: the flags of each task; false: how to see the flags of one task. `command` is such as "hone train".
std::string tasks_help(const std::string& command, const std::vector<Task>& tasks, bool all);
// Adds the flags of each task to the sheet of a command, with FlagSheet::part.
void add_task_flags(const std::vector<Task>& tasks, CommandSheet& sheet);
// The flags of each task as Markdown for hone train; for other commands, a reference to the page of hone train.
std::string tasks_markdown(const std::string& command, const std::vector<Task>& tasks);

}  // namespace hone
