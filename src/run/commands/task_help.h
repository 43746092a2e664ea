// Makes the help about flags that only some tasks have, for commands with --task.
#pragma once

#include <string>
#include <vector>

#include "learn/harness/task.h"
#include "run/manual/sheet.h"

namespace hone {

// The flag that names the task: "task", or "preset" for a preset.
std::string flag_of(const Task& task);
// If `all` is true, a list of the flags of each task; else the flags that all tasks share, and how to see the flags of
// one task. `command` is the full name of the command, "hone train".
std::string tasks_help(const std::string& command, const std::vector<Task>& tasks, bool all);
// Adds the flags of each task to the sheet of a command. FlagSheet::part names the task.
void add_task_flags(const std::vector<Task>& tasks, CommandSheet& sheet);
// Markdown with the flags of each task if `command` is hone train; for other commands, a link to the page of hone
// train.
std::string tasks_markdown(const std::string& command, const std::vector<Task>& tasks);

}  // namespace hone
