// Commands with --task: the task that is meant, and the settings of the command for it.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/settings/settings.h"
#include "learn/harness/task.h"

namespace hone {

struct ChosenTask;

struct TaskCommand {
  std::string name, summary;                         // of its Schema
  std::string task_help = "what the model learns";   // before the list of tasks
  std::function<void(TaskSettings&)> defaults = {};  // the command's own, set before flags
  std::function<void(Schema&)> more = {};            // binds settings besides the task's
  std::function<bool(const Task&)> takes = {};       // only such tasks
  bool data_only = false;                            // not the settings of training
  // Refuses mistakes that the settings alone show, like `check` of parse_settings.
  std::function<Status(const ChosenTask&)> check = {};
  bool trains = true;  // false: only --help all shows settings that only training needs
  // The remedy when several devices are asked for; null: the command uses several, or only checks.
  const char* one_device = "leave --tpu_num_cores out";
};

struct ChosenTask {
  explicit ChosenTask(const TaskCommand& c) : schema(c.name, c.summary) {}
  std::optional<Task> task;  // none: help or settings were asked for and are printed
  Schema schema;
  std::map<std::string, std::string> names;  // by --task and --preset
};

// The task or preset is among the flags, in the environment or in the settings file, else, for a command that does not
// train, that of the model (hone_task.json); it decides which flags there are. Without one, --help lists those of every task. Errors: H0207 no task, H0203
// no such task, or --tpu_num_cores for a command that uses one device, H2402 a task that cannot predict and --do_predict,
// H0206 the file of a pipeline as settings file, or an argument without a flag, those of Schema::parse.
Result<std::unique_ptr<ChosenTask>> choose_task(const TaskCommand& command,
                                                const std::vector<std::string>& args);

}  // namespace hone
