// Shared parts of train, eval, plan and bench.
#pragma once

#include "base/core/json.h"
#include "learn/harness/run/task_run.h"
#include "run/commands/task_choice.h"

namespace hone {

struct OpenedModel {
  Pretrained model;
  bool from_scratch = false;  // a new model: no weights are read
};
// The model of --model_name_or_path, or, without one, a new model of --config_name with the
// tokenizer of --tokenizer_name; with the head that the task trains. H3009 when no model is named,
// H0211 for weights in few bits without an adapter, H0202 for a pattern of ranks without a number, H0203 for an unknown
// --init_lora_weights.
Result<OpenedModel> open_for_training(const Task& task, bool need_weights = true);
// The run of that model, its data read and its memory taken. H2101 for a missing data file, H2282, before that, for all weights
// that are missing or whose sizes differ from the config; the head may still differ.
Result<std::unique_ptr<TaskRun>> open_run(const Task& task);

// Refuses mistakes of a training that the settings alone show. Errors: those of check_strategies(),
// update_options(), make_schedule() and most_seconds().
Status check_training(const ChosenTask& chosen);

// Makes the folder and checks that it can be written, before the long work begins. Errors: those of
// the store.
Status check_output_dir(const std::string& folder);

// Warns if this processor emulates the products that the run computes in bf16.
Status warn_of_emulated_bf16(const TrainSettings& s);

// "***** train metrics *****" with aligned names and values.
std::string results_table(const std::string& which, const OrderedJson& metrics);

}  // namespace hone
