// The shelf of tasks: each file x.cc that defines `Task task_x();` is one, and --task names it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/tasks/task_settings.h"

namespace hone {

struct Task {
  std::string name;                                       // "clm"
  std::string summary;                                    // "causal language modelling"
  std::unique_ptr<TaskSettings> (*settings)() = nullptr;  // with their defaults
};

std::vector<Task> all_task();  // by name of file

}  // namespace hone
