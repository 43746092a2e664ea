// The settings of masked language modelling, for the task and for the presets based on it.
#pragma once

#include "learn/harness/task.h"
#include "learn/tasks/mlm_masks.h"

namespace hone {

struct MlmSettings : TaskSettings, TextSettings {
#define HONE_SETTINGS "learn/tasks/mlm_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { TextSettings::bind(schema), bind(schema); }
  // The largest number of tokens of a row: --max_seq_length, by default 1024, but never more than the model's
  // positions.
  int64_t row_tokens(const ModelConfig& config) const;
  // For data without a column `text`. True: the text is in the only column with text; several such columns are an
  // error. False: only the column that the settings name is accepted.
  bool only_text_column = false;
};

// Returns the task "mlm" (masked language modelling) with these settings (mlm.cc).
Task mlm_task(std::shared_ptr<MlmSettings> s);

// The options for TokenMasker. Errors: H2413 the model has no tokenizer, or its tokenizer has no mask token.
Result<MaskOptions> mask_options(const MlmSettings& s, const Pretrained& model);

}  // namespace hone
