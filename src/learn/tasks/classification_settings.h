// The settings of classification, for the task and for the presets based on it.
#pragma once

#include "learn/data/rows/glue_tasks.h"
#include "learn/data/rows/label_map.h"
#include "learn/harness/task.h"

namespace hone {

struct ClassificationSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/classification_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }
  // null: task_name is not one of GLUE.
  const GlueTask* glue() const { return find_glue_task(task_name); }
  // The largest number of tokens of a row.
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_seq_length, config.max_positions);
  }
  // If a data set has matched and mismatched validation rows: evaluate both. False: only the matched rows.
  bool evaluates_mismatched = true;
};

// Classification with these settings (classification.cc).
Task classification_task(std::shared_ptr<ClassificationSettings> s);

// Sets the labels and problem_type in the config.json of the model, and the head in `config`. `task_name`: the GLUE
// task; "": none.
Status set_labels(ModelConfig& config, const LabelMap& map, const std::string& task_name);

}  // namespace hone
