// hone eval --task T: metrics of a model on a file.
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/store/new_folders.h"
#include "run/commands/command.h"
#include "run/commands/data_paths.h"
#include "run/commands/in_flags.h"
#include "run/commands/saved_examples.h"
#include "run/commands/slice_columns.h"
#include "run/commands/trained_settings.h"
#include "run/commands/training.h"

namespace hone {
namespace {

struct EvalOnly {
#define HONE_SETTINGS "run/commands/eval.def"
#include "base/settings/fields.inc"
};

Result<int> evaluate(ChosenTask& chosen, const EvalOnly& only) {
  TaskSettings& s = *chosen.task->settings;
  if (s.dataset_name.empty())
    HONE_TRY(check_data_files(s.validation_file.empty() ? s.train_file : s.validation_file));
  HONE_TRY(use_trained_settings(chosen));
  s.do_train = false;
  s.do_eval = true;
  const bool splits = has_given(chosen.schema, "validation_split_percentage");
  if (s.validation_file.empty() && !s.train_file.empty() && !splits) {
    log_info("{:<11} all rows of --train_file, also those that the model was trained on",
             "evaluates");
    s.validation_file = s.train_file;
    s.train_file.clear();
  }
  if (!s.validation_file.empty() && splits)
    log_warning("--validation_split_percentage has no effect beside --validation_file");
  if (only.save_examples) s.example_scores = std::make_shared<ExampleScores>();
  if (only.save_examples) HONE_TRY(find_evaluated_columns(*chosen.task, only.slice_columns));
  const NewFolders made(s.output_dir);
  if (!s.output_dir.empty()) HONE_TRY(check_output_dir(s.output_dir));
  install_stop_handlers();
  const auto run = HONE_TRY(open_run(*chosen.task));
  Trainer trainer(s, *run, HONE_TRY(make_schedule(s, 0)));
  OrderedJson metrics = HONE_TRY(trainer.evaluate());
  if (metrics.empty()) return 128 + stop_signal();
  if (only.save_examples)
    HONE_TRY(save_examples(chosen, *run, *s.example_scores, only.slice_columns));
  if (!s.output_dir.empty()) HONE_TRY(trainer.write_results("eval", metrics));
  if (only.json)
    print_out(dump_json(metrics) + "\n");
  else
    log_info("{}", results_table("eval", metrics));
  return kExitDone;
}

Result<int> run_eval(const std::vector<std::string>& args) {
  EvalOnly only;
  const auto chosen =
      HONE_TRY(choose_task({.name = "hone eval",
                            .summary = "evaluate a model",
                            .task_help = kTrainedTask,
                            .defaults =
                                [](TaskSettings& s) {
                                  s.output_dir = "";
                                  s.dtype = "auto";
                                  s.do_eval = true;
                                },
                            .more = [&](Schema& schema) { only.bind(schema); },
                            .check = [&](const ChosenTask& chosen) -> Status {
                              if (!only.save_examples) return Ok{};
                              return check_saved_examples(chosen, only.slice_columns);
                            },
                            .trains = false},
                           args));
  if (!chosen->task) return kExitDone;
  return in_flags(chosen->schema, evaluate(*chosen, only));
}

}  // namespace

Command command_eval() {
  return {
      .name = "eval", .summary = "evaluate a model", .in = CommandGroup::kTrain, .run = run_eval};
}

}  // namespace hone
