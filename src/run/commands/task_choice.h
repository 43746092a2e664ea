// For commands with --task: finds the requested task (what a model is trained for), and reads the settings that the
// command has for this task.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/settings/settings.h"
#include "learn/harness/task.h"

namespace hone {

struct ChosenTask;

struct TaskCommand {
  std::string name, summary;                         // the arguments of its Schema
  std::string task_help = "what the model learns";   // the help of --task, before the list of tasks
  std::function<void(TaskSettings&)> defaults = {};  // sets the command's own defaults
  std::function<void(Schema&)> more = {};            // binds the command's own settings
  std::function<bool(const Task&)> takes = {};       // true for tasks that it supports; null: all
  bool data_only = false;                            // has settings of data, none of training
  // Refuses mistakes that can be seen from the settings alone; see `check` of parse_settings().
  std::function<Status(const ChosenTask&)> check = {};
  bool trains = true;  // false: settings that only training needs are shown by --help all only
  // The remedy of the error if --tpu_num_cores requests several devices; null: this is not an error for the command.
  const char* one_device = "leave --tpu_num_cores out";
};

struct ChosenTask {
  explicit ChosenTask(const TaskCommand& c) : schema(c.name, c.summary) {}
  std::optional<Task> task;  // nullopt: help or settings were requested and are printed
  Schema schema;
  std::map<std::string, std::string> names;  // the values of the settings "task" and "preset"
};

// Finds the task or preset, which decides which flags the command has, and parses the settings. The first of these
// sources counts: the flags --task and --preset, the environment variables HONE_TASK and HONE_PRESET, the settings
// file, and, for a command that does not train, hone_task.json of the model. --help without a task lists the flags of
// every task. Errors: H0207 there is no task; H0203 there is no such task, or --tpu_num_cores requests several
// devices for a command that uses one; H2402 --do_predict for a task that cannot predict; H0206 the settings file is
// a pipeline, or an argument has no flag; those of Schema::parse().
Result<std::unique_ptr<ChosenTask>> choose_task(const TaskCommand& command,
                                                const std::vector<std::string>& args);

}  // namespace hone
