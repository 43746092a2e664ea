#include "run/commands/task_help.h"

#include "base/settings/settings.h"

namespace hone {

std::string flag_of(const Task& task) { return task.is_preset ? "preset" : "task"; }

std::string tasks_help(const std::string& command, const std::vector<Task>& tasks) {
  std::string text;
  for (const Task& t : tasks) {
    Schema schema(command, "");
    t.bind(schema);
    text += fmt::format("\nWith --{} {}: {}\n{}", flag_of(t), t.name, t.summary,
                        schema.settings_help());
  }
  return text;
}

std::string tasks_markdown(const std::string& command, const std::vector<Task>& tasks) {
  if (command != "hone train") return "\nA task has flags of its own besides: see hone train.\n";
  std::string text;
  for (const Task& t : tasks) {
    Schema schema(command, "");
    t.bind(schema);
    std::string part = schema.settings_reference();
    for (size_t at = 0; (at = part.find("\n## ", at)) != std::string::npos; at += 5)
      part.insert(at + 1, "##");
    text += fmt::format("\n### With --{} {}: {}\n{}", flag_of(t), t.name, t.summary, part);
  }
  return text;
}

}  // namespace hone
