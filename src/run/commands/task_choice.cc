#include "run/commands/task_choice.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "learn/configs/other_config.h"
#include "learn/tasks/presets/presets.h"
#include "learn/tasks/tasks.h"
#include "learn/train/deepspeed/deepspeed.h"
#include "learn/train/errors.h"
#include "learn/train/fsdp.h"
#include "run/commands/asked_task.h"
#include "run/commands/command.h"
#include "run/commands/settings_text.h"
#include "run/commands/stray_word.h"
#include "run/commands/task_flags.h"
#include "run/commands/task_help.h"

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

// The setting that names one of `tasks`: --task, or --preset with the presets.
void add_choice(const TaskCommand& c, const std::vector<Task>& tasks, const std::string& flag,
                ChosenTask& chosen) {
  std::vector<std::string> names, list;
  for (const Task& t : tasks)
    if (flag_of(t) == flag) {
      names.push_back(t.name);
      list.push_back(fmt::format("{} ({})", t.name, t.summary));
    }
  if (names.empty()) return;
  const std::string about = flag == "task" ? c.task_help
                                           : "replaces --task: a task with the "
                                             "defaults and flags of another program";
  chosen.schema.add(flag, &chosen.names[flag], kWhatToDo,
                    fmt::format("{}: {}", about, join(list, ", ")));
  chosen.schema.choices(flag, names);
  chosen.schema.common(flag, flag == "task");
}

// `own`: bind the chosen task's own flags; false: only what all tasks share.
void bind_all(const TaskCommand& c, const std::vector<Task>& tasks, bool own, ChosenTask& chosen) {
  Schema& schema = chosen.schema;
  schema.advise([&schema](const std::string& word) { return advice_for_word(schema, word); });
  const bool preset = own && chosen.task->is_preset;
  if (!preset) add_choice(c, tasks, "task", chosen);
  if (!preset && c.trains) schema.required("task");
  if (!own || preset) add_choice(c, tasks, "preset", chosen);
  TaskSettings& s = *chosen.task->settings;
  s.print = print_out;
  if (c.defaults) c.defaults(s);
  if (c.data_only) {
    if (c.more) c.more(schema);
  } else {
    s.TrainSettings::bind(schema);
    schema.choices("report_to", report_choices());
    schema.then([](Schema& all, std::vector<std::string>& notices, std::vector<Error>& errors) {
      follow_deepspeed(all, notices, errors);
      follow_fsdp(all, notices, errors);
    });
    schema.other_files(read_other_config);
  }
  s.DataSettings::bind(schema);
  if (own) chosen.task->bind(schema);
  if (!c.data_only && c.more) c.more(schema);
  if (c.trains) return;
  keep_training_rare(schema);
  if (!preset) schema.common("task");
}

std::unique_ptr<ChosenTask> bound(const TaskCommand& c, const std::vector<Task>& tasks,
                                  const Task& task, bool own) {
  auto chosen = std::make_unique<ChosenTask>(c);
  chosen->task = task;
  bind_all(c, tasks, own, *chosen);
  return chosen;
}

Result<AskedTask> named_task(const TaskCommand& c, const std::vector<Task>& tasks,
                             const std::vector<std::string>& args) {
  if (AskedTask named = named_by_flags(args); !named.name.empty()) return named;
  const auto environment = environment_settings();
  for (const auto& [variable, flag] : {std::pair("HONE_TASK", "task"), {"HONE_PRESET", "preset"}})
    if (const auto it = environment.find(variable); it != environment.end() && !it->second.empty())
      return AskedTask{flag, it->second};
  // Only the schema of a task that takes the flags distinguishes a file from a flag's value.
  std::string file;
  for (size_t i = 0; i < tasks.size() && file.empty(); ++i)
    file = bound(c, tasks, tasks[i], true)->schema.config_file(args);
  if (file.empty()) return AskedTask{};
  const std::string text = HONE_TRY(settings_text(c.name, file));
  if (const auto other = c.data_only ? std::nullopt : read_other_config(text, file)) {
    for (const OtherFile::Entry& entry : other->entries)
      if (entry.setting == "task") return AskedTask{"task", entry.value.get<std::string>()};
    if (!other->errors.empty()) return AskedTask{"task", "sft"};  // parse reports them all
  }
  const Json settings = HONE_TRY(settings_json(text, file));
  for (const char* flag : {"task", "preset"})
    if (settings.is_object() && settings.contains(flag) && settings[flag].is_string())
      return AskedTask{flag, settings[flag].get<std::string>()};
  return AskedTask{};
}

// The arguments, with the task as the first flag.
std::vector<std::string> with_task(const Task& t, std::vector<std::string> args) {
  args.insert(args.begin(), {"--" + flag_of(t), t.name});
  return args;
}

// Derives settings from others, and refuses those that the task or the command cannot do.
Status settle(const TaskCommand& c, ChosenTask& chosen) {
  TaskSettings& s = *chosen.task->settings;
  // As in Transformers: evaluations are asked for by saying when.
  if (has_given(chosen.schema, "eval_strategy") && s.eval_strategy != "no" &&
      !has_given(chosen.schema, "do_eval"))
    s.do_eval = true;
  if (!c.data_only) follow_device(chosen.schema, s);
  if (c.one_device) HONE_TRY(check_one_device(c.name, c.one_device, s));
  HONE_TRY(chosen.task->settle(chosen.schema));
  HONE_TRY(check_best_metric(*chosen.task));
  if (s.do_predict && !chosen.task->predicts)
    return Error(err::kNothingToDo,
                 fmt::format("the task {} has no rows to predict", chosen.task->name))
        .at("--do_predict")
        .todo("leave --do_predict out; hone generate writes texts");
  return c.check ? c.check(chosen) : Status(Ok{});
}

// Reads the settings of the command for the task `t`.
Result<std::unique_ptr<ChosenTask>> choose_named(const TaskCommand& c,
                                                 const std::vector<Task>& tasks, const Task& t,
                                                 const AskedTask& named,
                                                 const std::vector<std::string>& args) {
  if (flag_of(t) != named.flag)
    return Error(err::kSettingChoice,
                 fmt::format("{} is a {}, not a {}", t.name, flag_of(t), named.flag))
        .at(fmt::format("--{} {}", named.flag, t.name))
        .todo(fmt::format("write --{} {} for {}; each {} is in hone train --help", flag_of(t),
                          t.name, t.summary, named.flag));
  auto chosen = bound(c, tasks, t, true);
  HONE_TRY(check_is_settings(c.name, chosen->schema.config_file(args)));
  if (HONE_TRY(parse_settings(chosen->schema, args, [&] { return settle(c, *chosen); })).done) {
    chosen->task.reset();
    return chosen;
  }
  follow_log_settings(*chosen->task->settings);
  return chosen;
}

}  // namespace

Result<std::unique_ptr<ChosenTask>> choose_task(const TaskCommand& c,
                                                const std::vector<std::string>& args) {
  const std::vector<Task> tasks = tasks_of(c);
  const bool markdown = args.size() == 1 && args[0] == kMarkdownFlag, sheet = asks_for_sheet(args);
  const bool help = std::find(args.begin(), args.end(), "--help") != args.end() ||
                    std::find(args.begin(), args.end(), "-h") != args.end(),
             describes = help || markdown || sheet;
  AskedTask named;
  if (help) {
    named = named_by_flags(args);
  } else if (!describes) {
    named = HONE_TRY(named_task(c, tasks, args));
  }
  if (named.name.empty() && !c.trains && !describes)
    for (const std::string name = HONE_TRY(task_of_model(args)); const Task& t : tasks)
      if (t.name == name) return choose_named(c, tasks, t, {flag_of(t), name}, with_task(t, args));
  for (const Task& t : tasks)
    if (t.name == named.name) return choose_named(c, tasks, t, named, args);
  // No such task, or none: what all tasks share is enough to say so.
  auto chosen = bound(c, tasks, tasks.front(), false);
  if (!describes) chosen->schema.required("task");
  std::vector<std::string> about = describes ? args : std::vector<std::string>{};
  if (!named.name.empty()) about = {"--" + named.flag, named.name};
  if (about.empty()) about = misspelt_task(args);
  if (about.empty()) return without_task(chosen->schema, c.task_help, args);
  const ParseOutcome asked = HONE_TRY(parse_settings(chosen->schema, about)).outcome;
  if (sheet)
    add_task_flags(tasks, asked_sheet());
  else
    print_out(markdown ? tasks_markdown(c.name, tasks) : tasks_help(c.name, tasks, asked.help_all));
  chosen->task.reset();
  return chosen;
}

}  // namespace hone
