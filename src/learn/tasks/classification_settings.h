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
  // The GLUE task that task_name names; null: task_name is not a GLUE task.
  const GlueTask* glue() const { return find_glue_task(task_name); }
  // The largest number of tokens of a row.
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_seq_length, config.max_positions);
  }
  // For data sets with matched and mismatched rows, such as MNLI. True: both are evaluated and predicted. False: only
  // the matched rows are.
  bool evaluates_mismatched = true;
};

// Returns the task "classification" with these settings (classification.cc).
Task classification_task(std::shared_ptr<ClassificationSettings> s);

// Sets the head of `config` to a sequence classifier with the labels of `map`. Also sets problem_type and the labels in
// config.config (the model's config.json). `task_name`: stored as finetuning_task; "": not stored. Errors: those of
// set_head.
Status set_labels(ModelConfig& config, const LabelMap& map, const std::string& task_name);

}  // namespace hone
