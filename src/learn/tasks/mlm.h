// Masked language modelling: tokens that were hidden, from those around them.
#pragma once

#include "learn/tasks/mlm_masks.h"
#include "learn/tasks/text_rows.h"
#include "learn/tasks/token_task.h"

namespace hone {

struct MlmOwnSettings {
#define HONE_SETTINGS "learn/tasks/mlm_settings.def"
#include "base/settings/fields.inc"
};

class MlmSettings : public TextTaskSettings, public MlmOwnSettings {
 public:
  using TaskSettings::bind;
  void bind_own(Schema& schema) override;
  Status choose_head(ModelConfig& config) const override;
  // --max_seq_length, or the smaller of 1024 and the model's positions; never more than the model
  // has.
  int64_t row_tokens(const ModelConfig& config) const override;
  std::string row_tokens_flag() const override { return "max_seq_length"; }
  int64_t row_tokens_given() const override { return max_seq_length; }
  bool rows_apart() const override { return line_by_line; }
  bool steps_are_even() const override { return false; }
  bool labels_vary() const override { return true; }
  Program build(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                bool train) const override;
  Result<std::unique_ptr<TokenTask>> open(Pretrained model, bool from_scratch) const override;

  Result<TextFiles> files(const Pretrained& model, const TextWish& wish,
                          std::vector<std::string>& notes) const override;
  OrderedJson shard_settings(const Pretrained& model, const TextOptions& causal,
                             bool all) const override;
  Tokenize tokenize(const Pretrained& model, ThreadPool* pool) const override;
};

// Errors: H2407 without a tokenizer that has a mask token.
Result<MaskOptions> mask_options(const MlmSettings& s, const Pretrained& model);

}  // namespace hone
