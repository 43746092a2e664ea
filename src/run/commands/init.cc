// hone init TASK: writes a project that runs unchanged.
#include <unistd.h>

#include <algorithm>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/pretrained/tiny_model.h"
#include "learn/tasks/tasks.h"
#include "operate/pipeline/recipe/project_files.h"
#include "operate/pipeline/runner.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/recipe_task.h"
#include "run/commands/task_choice.h"

namespace hone {
namespace {

// The tasks that come with a sample.
std::vector<std::string> sample_tasks() {
  std::vector<std::string> names;
  for (const Task& t : all_task())
    if (t.sample) names.push_back(t.name);
  return names;
}

struct InitSettings {
#define HONE_SETTINGS "run/commands/init.def"
#include "base/settings/fields.inc"
};

std::string project_name(const std::string& folder) {
  std::string name;
  for (const char c : folder) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (good || !name.empty()) name += good ? c : '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

bool has_setting(const Task& task, const std::string& name) {
  const Schema schema = described(task);
  return std::ranges::any_of(schema.all(), [&](const Setting& s) { return s.name == name; });
}

std::map<std::string, std::string> sample_data(const SampleProject& sample) {
  if (sample.files) return sample.files();
  return {};
}

// Weights for model/: one step of training from scratch makes them.
Status make_model(const Task& task, const std::string& dir) {
  Store& store = file_store();
  const std::string model = dir + "/model", made = dir + "/.model";
  std::vector<std::string> words = {
      own_program(), "train", "--task",          task.name, "--config_name", model, "--do_train",
      "--max_steps", "1",     "--save_strategy", "no",      "--output_dir",  made};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  if (task.reads_text) add({"--tokenizer_name", model});
  if (task.sample->files)
    add({"--dataset_name", dir + "/data"});
  else
    add({"--train_file", dir + "/data/train.jsonl"});
  for (const auto& [flag, value] : task.sample->flags.items()) {
    words.push_back("--" + flag);
    words.push_back(value.is_string() ? value.get<std::string>() : dump_json(value));
  }
  const CommandOutput done = HONE_TRY(run_command(words));
  if (done.status != 0) {
    Error e(err::kNoModel, "the project's model cannot be made");
    for (const std::string& line : lines_of_failure(done.error, done.err)) e.at(line);
    return e;
  }
  for (const auto& entry : HONE_TRY(store.list(made)))
    if (!entry.name.starts_with("hone_") && entry.name != "trainer_state.json" &&
        entry.name.find("results") == std::string::npos)
      HONE_TRY(store.rename(made + "/" + entry.name, model + "/" + entry.name));
  return store.remove_all(made);
}

Result<int> run_init(const std::vector<std::string>& args) {
  InitSettings s;
  Schema schema("hone init", "write a project that runs unchanged");
  s.bind(schema);
  schema.positional("task");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  const std::string dir = without_end_slash(s.dir.empty() ? s.task : s.dir);
  Store& store = file_store();
  if (HONE_TRY(store.exists(dir)) && !HONE_TRY(store.list(dir)).empty())
    return Error(err::kFileExists, fmt::format("'{}' holds files already", dir))
        .at("--dir")
        .todo("name a new folder");
  const std::string name = project_name(last_part(dir));
  const Task task = find_task(s.task);
  const SampleProject& sample = *task.sample;
  auto files = project_files({.task = s.task,
                              .name = name.empty() ? s.task : name,
                              .hub_model = sample.model.hub,
                              .row = sample.row,
                              .data = sample_data(sample),
                              .keys = sample.keys,
                              .flags = sample.flags,
                              .has_labels = has_setting(task, "ignore_mismatched_sizes"),
                              .is_served = is_served_task(task)});
  for (auto& [path, text] : tiny_model_files(sample.model))
    files["model/" + path] = std::move(text);
  for (const auto& [path, text] : files) {
    const std::string file = dir + "/" + path;
    HONE_TRY(store.make_dirs(file.substr(0, file.rfind('/'))));
    HONE_TRY(store.write(file, text));
  }
  HONE_TRY(make_model(task, dir));
  log_info("{:<11} {}: cd {} && hone pipeline run pipeline.json", "project", dir, shell_word(dir));
  return kExitDone;
}

}  // namespace

Command command_init() {
  return {.name = "init",
          .summary = "write a project that runs unchanged",
          .in = CommandGroup::kTrain,
          .run = run_init};
}

}  // namespace hone
