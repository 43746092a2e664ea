#include "run/commands/task_choice.h"

#include <algorithm>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/settings/yaml.h"
#include "learn/tasks/presets/presets.h"
#include "learn/tasks/tasks.h"
#include "run/commands/command.h"

namespace hone {
namespace {

std::vector<Task> tasks_of(const TaskCommand& c) {
  std::vector<Task> tasks = all_task();
  for (Task& preset : all_preset()) {
    preset.is_preset = true;
    tasks.push_back(std::move(preset));
  }
  std::sort(tasks.begin(), tasks.end(),
            [](const Task& a, const Task& b) { return a.name < b.name; });
  std::erase_if(tasks, [&](const Task& t) { return c.takes && !c.takes(t); });
  return tasks;
}

const char* flag_of(const Task& t) { return t.is_preset ? "preset" : "task"; }

// `own`: with the flags of the task itself.
void bind_all(const TaskCommand& c, const std::vector<Task>& tasks, bool own, ChosenTask& chosen) {
  std::vector<std::string> names, list;
  for (const Task& t : tasks) {
    names.push_back(t.name);
    list.push_back(fmt::format("{} ({})", t.name, t.summary));
  }
  Schema& schema = chosen.schema;
  schema.add("task", &chosen.name, "What to do",
             fmt::format("{}: {}", c.task_help, fmt::join(list, ", ")));
  schema.choices("task", names);
  schema.required("task");
  schema.alias("task", "preset", false);
  TaskSettings& s = *chosen.task->settings;
  s.print = print_out;
  if (c.defaults) c.defaults(s);
  if (c.data_only) {
    if (c.more) c.more(schema);
  } else {
    s.TrainSettings::bind(schema);
  }
  s.DataSettings::bind(schema);
  if (own) chosen.task->bind(schema);
  if (!c.data_only && c.more) c.more(schema);
}

std::unique_ptr<ChosenTask> bound(const TaskCommand& c, const std::vector<Task>& tasks,
                                  const Task& task, bool own) {
  auto chosen = std::make_unique<ChosenTask>(c);
  chosen->task = task;
  bind_all(c, tasks, own, *chosen);
  return chosen;
}

// The last --task (or --preset); a flag's value cannot begin with "--", so every such word is the
// flag.
std::string task_of_flags(const std::vector<std::string>& args) {
  std::string task;
  for (size_t i = 0; i < args.size() && args[i] != "--"; ++i)
    for (const std::string flag : {"--task", "--preset"}) {
      if (args[i].starts_with(flag + "=")) task = args[i].substr(flag.size() + 1);
      if (args[i] == flag && i + 1 < args.size() && !args[i + 1].starts_with("--"))
        task = args[i + 1];
    }
  return task;
}

Result<std::string> named_task(const TaskCommand& c, const std::vector<Task>& tasks,
                               const std::vector<std::string>& args) {
  if (std::string task = task_of_flags(args); !task.empty()) return task;
  const auto environment = environment_settings();
  if (const auto it = environment.find("HONE_TASK"); it != environment.end() && !it->second.empty())
    return it->second;
  // What is a file and what a flag's value only a schema knows: that of a task that takes the
  // flags.
  std::string file;
  for (size_t i = 0; i < tasks.size() && file.empty(); ++i)
    file = bound(c, tasks, tasks[i], true)->schema.config_file(args);
  if (file.empty()) return std::string();
  const std::string text = HONE_TRY(read_file(file));
  const Json settings =
      HONE_TRY(to_lower(file).ends_with(".json") ? parse_json(text, file) : parse_yaml(text, file));
  if (settings.is_object() && settings.contains("task") && settings["task"].is_string())
    return settings["task"].get<std::string>();
  return std::string();
}

std::string own_help(const TaskCommand& c, const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& t : tasks) {
    Schema schema(c.name, c.summary);
    t.bind(schema);
    text += fmt::format("\nWith --{} {}: {}\n{}", flag_of(t), t.name, t.summary,
                        schema.settings_help());
  }
  return text;
}

// Once, on the page of hone train.
std::string own_markdown(const TaskCommand& c, const std::vector<Task>& tasks) {
  if (c.name != "hone train") return "\nA task has flags of its own besides: see hone train.\n";
  std::string text;
  for (const Task& t : tasks) {
    Schema schema(c.name, c.summary);
    t.bind(schema);
    std::string part = schema.settings_reference();
    for (size_t at = 0; (at = part.find("\n## ", at)) != std::string::npos; at += 5)
      part.insert(at + 1, "##");
    text += fmt::format("\n### With --{} {}: {}\n{}", flag_of(t), t.name, t.summary, part);
  }
  return text;
}

// The words of Transformers; "passive" is the application's own level.
LogLevel level_named(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error" || name == "critical") return LogLevel::kError;
  return LogLevel::kInfo;
}

}  // namespace

Result<std::unique_ptr<ChosenTask>> choose_task(const TaskCommand& c,
                                                const std::vector<std::string>& args) {
  const std::vector<Task> tasks = tasks_of(c);
  const bool markdown = args.size() == 1 && args[0] == kMarkdownFlag;
  const bool help = std::find(args.begin(), args.end(), "--help") != args.end() ||
                    std::find(args.begin(), args.end(), "-h") != args.end();
  std::string name;
  if (help) {
    name = task_of_flags(args);
  } else if (!markdown) {
    name = HONE_TRY(named_task(c, tasks, args));
  }
  for (const Task& t : tasks) {
    if (t.name != name) continue;
    auto chosen = bound(c, tasks, t, true);
    if (HONE_TRY(parse_settings(chosen->schema, args)).done)
      chosen->task.reset();
    else
      HONE_TRY(chosen->task->settle(chosen->schema));
    if (chosen->task) set_log_level(level_named(chosen->task->settings->log_level));
    return chosen;
  }
  // No such task, or none: what all tasks share is enough to say so.
  auto chosen = bound(c, tasks, tasks.front(), false);
  std::vector<std::string> about = markdown || help ? args : std::vector<std::string>{};
  if (!name.empty()) about = {"--task", name};
  HONE_TRY(parse_settings(chosen->schema, about));
  print_out(markdown ? own_markdown(c, tasks) : own_help(c, tasks));
  chosen->task.reset();
  return chosen;
}

Task find_task(const std::string& name) {
  for (const Task& t : all_task())
    if (t.name == name) return t;
  HONE_BUG_IF(true, "no task '{}'", name);
}

Result<int> run_script(const std::string& name, const std::string& task,
                       const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out(fmt::format(
        "## hone {}\n\n`hone train --task {}` under the name of Transformers' script.\n", name,
        task));
    return kExitDone;
  }
  // The task comes last: a settings file, if any, is the first argument.
  std::vector<std::string> all = args;
  all.insert(all.end(), {"--task", task});
  return run_command_named("train", all);
}

}  // namespace hone
