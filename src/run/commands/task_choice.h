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
  std::string name, summary;                         // the arguments for the Schema of the command
  std::string task_help = "what the model learns";   // the help of --task, before the list of tasks
  std::function<void(TaskSettings&)> defaults = {};  // sets the command's own defaults
  std::function<void(Schema&)> more = {};            // binds the command's own settings
  std::function<bool(const Task&)> takes = {};       // true for supported tasks; null: all
  bool data_only = false;                            // has settings of data, but not of training
  // Refuses mistakes that can be seen from the settings alone; see `check` of parse_settings().
  std::function<Status(const ChosenTask&)> check = {};
  bool trains = true;  // false: only --help all shows settings that only training needs
  // The remedy of the error if --tpu_num_cores requests several devices; null: the command accepts such a request.
  const char* one_device = "leave --tpu_num_cores out";
};

struct ChosenTask {
  explicit ChosenTask(const TaskCommand& c) : schema(c.name, c.summary) {}
  std::optional<Task> task;  // nullopt: help or the settings were requested and are printed
  Schema schema;
  std::map<std::string, std::string> names;  // the values of the settings "task" and "preset"
};

// Finds the task or preset, which decides which flags the command has, and parses the settings. The first source with a
// task counts, in this order: the flags --task and --preset, the environment variables HONE_TASK and HONE_PRESET, the
// settings file, and, if the command does not train, hone_task.json of the model. `--help` without a task shows the
// tasks, and `--help all` the flags of every task. Errors: H0207 no source names a task; H0203 there is no such task,
// or --tpu_num_cores requests several devices for a command that uses one; H2402 --do_predict is set for a task that
// cannot predict; H0206 the settings file is a pipeline, or an argument has no flag; those of Schema::parse().
Result<std::unique_ptr<ChosenTask>> choose_task(const TaskCommand& command,
                                                const std::vector<std::string>& args);

}  // namespace hone
