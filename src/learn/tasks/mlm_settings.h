// The settings of masked language modelling, for the task and for presets that it is the base of.
#pragma once

#include "learn/harness/task.h"
#include "learn/tasks/mlm_masks.h"

namespace hone {

struct MlmSettings : TaskSettings, TextSettings {
#define HONE_SETTINGS "learn/tasks/mlm_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { TextSettings::bind(schema), bind(schema); }
  // --max_seq_length, or the smaller of 1024 and the model's positions; never more than the model
  // has.
  int64_t row_tokens(const ModelConfig& config) const;
  bool only_text_column = false;  // without a column `text` the only one that holds text
};

// Masked language modelling with these settings (mlm.cc).
Task mlm_task(std::shared_ptr<MlmSettings> s);

// Errors: H2413 without a tokenizer that has a mask token.
Result<MaskOptions> mask_options(const MlmSettings& s, const Pretrained& model);

}  // namespace hone
