#include "run/commands/task_help.h"

#include <map>

#include "base/settings/settings.h"
#include "run/commands/screen.h"

namespace hone {

namespace {

std::string task_title(const Task& t) {
  return fmt::format("With --{} {}: {}", flag_of(t), t.name, t.summary);
}

// The settings that every task has, as the first one explains them.
std::string help_of_every(const std::string& command, const std::vector<Task>& tasks) {
  std::map<std::string, size_t> named;  // with the number of tasks
  size_t count = 0;
  std::optional<Schema> first;
  for (const Task& t : tasks) {
    if (t.is_preset) continue;
    ++count;
    Schema schema(command, "");
    t.bind(schema);
    for (const Setting& s : schema.all()) ++named[s.name];
    if (!first) first = std::move(schema);
  }
  if (!first) return "";
  bool any = false;
  for (const auto& [name, tasks_with_it] : named) {
    if (!has_setting(*first, name)) continue;
    first->common(name, tasks_with_it == count);
    any = any || tasks_with_it == count;
  }
  return any ? "\nEvery task" + first->settings_help({.width = screen_width(), .all = false}) + "\n"
             : "";
}

}  // namespace

std::string flag_of(const Task& task) { return task.is_preset ? "preset" : "task"; }

std::string tasks_help(const std::string& command, const std::vector<Task>& tasks, bool all) {
  if (!all)
    return help_of_every(command, tasks) +
           fmt::format("'{} --task TASK --help' shows those of a task too.\n", command);
  std::string text;
  for (const Task& t : tasks) {
    Schema schema(command, "");
    t.bind(schema);
    text += fmt::format("\n{}\n{}", task_title(t), schema.settings_help({.width = screen_width()}));
  }
  return text;
}

void add_task_flags(const std::vector<Task>& tasks, CommandSheet& sheet) {
  for (const Task& t : tasks) {
    Schema schema("", "");
    t.bind(schema);
    add_flags(sheet, schema, task_title(t));
  }
}

std::string tasks_markdown(const std::string& command, const std::vector<Task>& tasks) {
  if (command != "hone train") return "\nEach task has further flags: see hone train.\n";
  std::string text;
  for (const Task& t : tasks) {
    Schema schema(command, "");
    t.bind(schema);
    std::string part = schema.settings_reference();
    for (size_t at = 0; (at = part.find("\n## ", at)) != std::string::npos; at += 5)
      part.insert(at + 1, "##");
    text += fmt::format("\n### {}\n{}", task_title(t), part);
  }
  return text;
}

}  // namespace hone
