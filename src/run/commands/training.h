// Shared parts of train, eval, plan and bench.
#pragma once

#include "base/core/json.h"
#include "learn/harness/task_run.h"
#include "run/commands/task_choice.h"

namespace hone {

// The model of --model_name_or_path, or, without one, a new model of --config_name with the
// tokenizer of --tokenizer_name (from_scratch); with the head that the task trains. H3009 when no model
// is named, H0211 for weights in few bits without an adapter.
Result<Pretrained> open_for_training(const Task& task, bool& from_scratch,
                                     bool need_weights = true);
// Call before data are read and memory is planned: H2282 for all weights that are missing or have
// other sizes than the config; the head may still differ.
Status check_sizes(const Pretrained& model);

// Makes the folder and finds out that it can be written, before minutes are spent. Errors: those of
// the store.
Status check_output_dir(const std::string& folder);

// "***** train metrics *****" with aligned names and values.
std::string results_table(const std::string& which, const OrderedJson& metrics);

}  // namespace hone
