// Causal language modelling: each token from those before it.
#pragma once

#include "learn/tasks/text_rows.h"
#include "learn/tasks/token_task.h"

namespace hone {

struct ClmOwnSettings {
#define HONE_SETTINGS "learn/tasks/clm_settings.def"
#include "base/settings/fields.inc"
};

class ClmSettings : public TextTaskSettings, public ClmOwnSettings {
 public:
  using TaskSettings::bind;
  void bind_own(Schema& schema) override;
  Status choose_head(ModelConfig& config) const override;
  // --block_size, or the smaller of 1024 and the model's positions; never more than the model has.
  int64_t row_tokens(const ModelConfig& config) const override;
  std::string row_tokens_flag() const override { return "block_size"; }
  int64_t row_tokens_given() const override { return block_size; }
  bool rows_apart() const override { return packing; }
  Program build(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                bool train) const override;
  Result<std::unique_ptr<TokenTask>> open(Pretrained model, bool from_scratch) const override;

  Result<TextFiles> files(const Pretrained& model, const TextWish& wish,
                          std::vector<std::string>& notes) const override;
  OrderedJson shard_settings(const Pretrained& model, const TextOptions& causal,
                             bool all) const override;
  Tokenize tokenize(const Pretrained& model, ThreadPool* pool) const override {
    return tokenize_with(model, pool);
  }
};

}  // namespace hone
