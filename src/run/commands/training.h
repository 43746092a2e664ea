// Functions that the commands hone train, eval, plan and bench share, such as opening the model and the run.
#pragma once

#include "base/core/json.h"
#include "learn/harness/run/task_run.h"
#include "run/commands/task_choice.h"

namespace hone {

struct OpenedModel {
  Pretrained model;
  bool from_scratch = false;  // true: a new model; no weights are read
};
// Opens the model of --model_name_or_path with the head (output layers) that the task trains. If this flag is missing,
// makes a new model from --config_name or --model_type, with the tokenizer of --tokenizer_name. Errors: H3009 no model
// is named; H0211 flags exclude each other, such as flags that request to train quantized weights without an adapter;
// H0202 an element of rank_pattern or alpha_pattern is not NAME=NUMBER; H0203 init_lora_weights is unknown; those of
// open_pretrained().
Result<OpenedModel> open_for_training(const Task& task, bool need_weights = true);
// Opens the model and the run: reads the data and allocates the memory. Errors: H2101 a data file is missing; H2282
// weights are missing, or their sizes differ from the config (checked before the data is read; a head with another size
// is not an error); those of open_for_training() and TaskRun::open().
Result<std::unique_ptr<TaskRun>> open_run(const Task& task);

// Checks the settings of a training without reading files. Errors: those of check_strategies(), update_options(),
// make_schedule() and most_seconds().
Status check_training(const ChosenTask& chosen);

// Makes the output folder and checks that files can be written to it. Call it before the long work starts. Errors:
// those of the store.
Status check_output_dir(const std::string& folder);

// Logs a warning if the run computes in bf16 and this processor only emulates bf16 products.
Status warn_of_emulated_bf16(const TrainSettings& s);

// A table for people: the line "***** train metrics *****" if `which` is "train", then a line with name and value for
// each metric.
std::string results_table(const std::string& which, const OrderedJson& metrics);

}  // namespace hone
