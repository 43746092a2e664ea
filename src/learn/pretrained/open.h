// Parts of open_pretrained (pretrained.h) for callers without a model. Errors of both: H2210 a JSON file of the folder
// cannot be read; H0211 weights are stored in another quantization than is requested.
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

// The model that adapter_config.json names, if a folder has an adapter and no model; "": any other folder. A relative
// path is looked for from the adapter's folder upwards; one that is not found stays as it is written. H2305: it names
// no model, or another adapter.
Result<std::string> base_of_adapter(const std::string& folder);

// Whether a folder has the files of a tokenizer.
bool has_tokenizer(const std::string& folder);

// The task that the model or adapter of a folder, a file of weights or a hub name was trained on.
Result<TrainedTask> open_trained_task(const std::string& name, const OpenOptions& options = {});

}  // namespace hone
