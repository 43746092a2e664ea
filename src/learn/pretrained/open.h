// Parts of open_pretrained for callers without a model.
#pragma once

#include "learn/pretrained/pretrained.h"
#include "learn/tokenizers/load/load.h"

namespace hone {

// Opens only the tokenizer of a folder, a tokenizer.json, a .gguf file or a hub name; needs no
// config.
Result<Tokenizer> open_tokenizer(const std::string& name, const OpenOptions& options = {},
                                 const TokenizerSide& side = {});

// Sets ModelConfig::layout by the names in a file of weights.
void set_layout(ModelConfig& config, const WeightSource& weights);

// The GGUF file that `path` means: itself, or the only one, or the first of one model's, in a folder
// without config.json; "" else.
std::string gguf_of(const std::string& path);

// The task that the model or adapter of a folder, a file of weights or a hub name was trained on.
Result<TrainedTask> open_trained_task(const std::string& name, const OpenOptions& options = {});

}  // namespace hone
