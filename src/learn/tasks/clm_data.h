// What causal language models learn from, as the settings name it.
#pragma once

#include "base/core/threads.h"
#include "base/settings/settings.h"
#include "learn/data/causal_data.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct ClmDataSettings {
#define HONE_SETTINGS "learn/tasks/clm_settings.def"
#include "base/settings/fields.inc"
};

// Tokens of a row: --block_size, or the smaller of 1024 and the model's positions; never more than
// the model has.
int64_t block_size_of(const ClmDataSettings& s, const ModelConfig& config);

struct ClmDataWish {
  bool train = true, eval = false;
  std::string cache_dir, token;  // for data sets of the hub
};
// What the data flags name, for rows of `block` tokens; `notes` say how names were understood.
// Errors: those of find_sources, H2115, H2116.
Result<CausalFiles> causal_files(const ClmDataSettings& s, const Pretrained& model, int64_t block,
                                 const ClmDataWish& wish, std::vector<std::string>& notes);

// The settings that decide the rows of prepared shards. With `all`, as hone prepare notes them;
// else those that a run which takes the shards depends on: the way the text was read only where it
// is not the default.
OrderedJson shard_settings(const ClmDataSettings& s, const Pretrained& model,
                           const CausalOptions& causal, bool all);

// Both must outlive the function. H2404 when the model has no tokenizer.
Tokenize tokenize_with(const Pretrained& model, ThreadPool* pool);

}  // namespace hone
