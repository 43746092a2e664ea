#include "run/commands/training_command.h"

#include <algorithm>

#include "base/core/process.h"
#include "base/core/text.h"
#include "base/settings/value.h"
#include "base/store/store.h"
#include "learn/tasks/tasks.h"

namespace hone {
namespace {

bool has_task(const std::string& name) {
  const std::vector<Task> all = all_task();
  return std::any_of(all.begin(), all.end(), [&](const Task& t) { return t.name == name; });
}

// "news_2_again"
std::string new_folder(const ModelVersion& v) {
  std::string name = fmt::format("{}_{}_again", v.model, v.number);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '/'; }, '_');
  return name;
}

std::string word_of(const OrderedJson& value) {
  return shell_word(value.is_string() || value.is_number() ? value_text(value) : dump_json(value));
}

}  // namespace

std::string unknown_settings(const RegisteredRun& run) {
  if (!has_task(run.task)) return "task " + run.task;
  const Task task = find_task(run.task);
  const Schema schema = described(task);
  std::vector<std::string> unknown;
  for (const auto& [key, value] : run.params.items())
    if (key != "task" && key != "preset" && !has_setting(schema, key))
      unknown.push_back("--" + key);
  return join(unknown, " ");
}

std::string training_command(const ModelVersion& v, const RegisteredRun& run) {
  std::string command = fmt::format("hone train --task {}", run.task);
  if (!has_task(run.task)) return command;
  const Task task = find_task(run.task);
  const Schema schema = described(task);
  for (const Setting& s : schema.all()) {
    const auto value = run.params.find(s.name);
    if (value == run.params.end() || *value == s.default_value || value->is_null()) continue;
    command += " --" + s.name;
    if (s.name == "output_dir")
      command += " " + shell_word(new_folder(v));
    else if (value->is_array())
      for (const OrderedJson& word : *value) command += " " + word_of(word);
    else
      command += " " + word_of(*value);
  }
  const std::string folder = text_at(run.record, "folder");
  return is_folder(folder) ? fmt::format("cd {} && {}", shell_word(folder), command) : command;
}

}  // namespace hone
