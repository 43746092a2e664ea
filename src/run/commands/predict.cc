// hone predict --task T: labels, numbers or texts for the rows of a test file.
#include <algorithm>
#include <filesystem>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/store/new_folders.h"
#include "base/store/store.h"
#include "run/commands/command.h"
#include "run/commands/data_paths.h"
#include "run/commands/errors.h"
#include "run/commands/in_flags.h"
#include "run/commands/trained_settings.h"
#include "run/commands/training.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

struct PredictOnly {
#define HONE_SETTINGS "run/commands/predict.def"
#include "base/settings/fields.inc"
};

// The files of predictions in a folder.
OrderedJson prediction_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const std::string& name : names_in(folder)) {
    if (name == "generated_predictions.txt" || name == "predictions.txt" ||
        (name.starts_with("predict_results") && name.ends_with(".txt")))
      files.push_back(folder + "/" + name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<int> predict(ChosenTask& chosen, const PredictOnly& only) {
  TaskSettings& s = *chosen.task->settings;
  s.do_train = s.do_eval = false;
  s.do_predict = true;
  if (s.output_dir.empty())
    return Error(err::kMissingArgument, "hone predict is given no folder for the predictions")
        .todo("name one with --output_dir");
  if (s.dataset_name.empty() && has_setting(chosen.schema, "test_file"))
    HONE_TRY(
        check_data_files(chosen.schema.at("test_file").value().get<std::vector<std::string>>()));
  HONE_TRY(use_trained_settings(chosen));
  const NewFolders made(s.output_dir);
  HONE_TRY(check_output_dir(s.output_dir));
  install_stop_handlers();
  const auto run = HONE_TRY(open_run(*chosen.task));
  const OrderedJson got = HONE_TRY(run->predict(s.output_dir));
  if (stop_signal()) return 128 + stop_signal();
  OrderedJson metrics = OrderedJson::object();
  for (const auto& [key, value] : got.items()) metrics["predict_" + key] = value;
  if (only.json) {
    metrics["files"] = prediction_files(s.output_dir);
    print_out(dump_json(metrics) + "\n");
  } else if (!metrics.empty()) {
    log_info("{}", results_table("predict", metrics));
  }
  return kExitDone;
}

Result<int> run_predict(const std::vector<std::string>& args) {
  PredictOnly only;
  const auto chosen =
      HONE_TRY(choose_task({.name = "hone predict",
                            .summary = "labels, numbers or texts for a file",
                            .task_help = kTrainedTask,
                            .defaults =
                                [](TaskSettings& s) {
                                  s.output_dir = "";
                                  s.dtype = "auto";
                                  s.do_predict = true;
                                },
                            .more =
                                [&](Schema& schema) {
                                  only.bind(schema);
                                  for (const char* other : {"train_file", "validation_file"})
                                    schema.common(other, false);
                                  if (has_setting(schema, "test_file")) schema.common("test_file");
                                  if (has_setting(schema, "predict_with_generate"))
                                    schema.preset("predict_with_generate", "true");
                                },
                            .takes = [](const Task& t) { return t.predicts; },
                            .trains = false},
                           args));
  if (!chosen->task) return kExitDone;
  return in_flags(chosen->schema, predict(*chosen, only));
}

}  // namespace

Command command_predict() {
  return {.name = "predict",
          .summary = "predict labels, numbers or texts for a file",
          .in = CommandGroup::kUse,
          .run = run_predict};
}

}  // namespace hone
