// The settings of classification, for the task and for presets that it is the base of.
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
  const GlueTask* glue() const { return find_glue_task(task_name); }
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_seq_length, config.max_positions);
  }
  bool evaluates_mismatched = true;  // of a data set with matched and mismatched validation rows
};

// Classification with these settings (classification.cc).
Task classification_task(std::shared_ptr<ClassificationSettings> s);

// Sets the labels and the kind of problem in config.json, and the head in `config`.
Status set_labels(ModelConfig& config, const LabelMap& map, const std::string& task_name);

}  // namespace hone
