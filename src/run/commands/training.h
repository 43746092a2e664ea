// What train, eval, plan and bench share.
#pragma once

#include "base/core/json.h"
#include "learn/tasks/clm.h"

namespace hone {

struct TaskOnly {
#define HONE_SETTINGS "run/commands/train.def"
#include "base/settings/fields.inc"
};

struct TaskSettings : ClmSettings, TaskOnly {
  void bind(Schema& schema) {
    TaskOnly::bind(schema);
    ClmSettings::bind(schema);
  }
};

// The model of --model_name_or_path, or, without one, a new model of --config_name with the
// tokenizer of --tokenizer_name (from_scratch).
Result<Pretrained> open_for_training(const TrainSettings& s, bool& from_scratch,
                                     bool need_weights = true);

// Makes the folder and finds out that it can be written, before minutes are spent. Errors: those of
// the store.
Status check_output_dir(const std::string& folder);

// "***** train metrics *****" with aligned names and values.
std::string results_table(const std::string& which, const OrderedJson& metrics);

}  // namespace hone
