// Parts of open_pretrained() (pretrained.h) that can be called alone: the tokenizer, the task, the adapter's base
// model. open_pretrained() itself returns H0211 if the quantization of the stored weights differs from the one that the
// flags ask for.
#pragma once

#include "learn/pretrained/pretrained.h"
#include "learn/tokenizers/load/load.h"

namespace hone {

// Opens only a tokenizer. `name`: a model folder, a tokenizer.json, a .gguf file, a file of weights (the tokenizer is
// in the same folder) or a hub name. No config.json is needed. `side`: which of the two tokenizers of a model with two
// vocabularies. Errors: those of the hub (base/store/hub.h) and of load_tokenizer().
Result<Tokenizer> open_tokenizer(const std::string& name, const OpenOptions& options = {},
                                 const TokenizerSide& side = {});

// Sets ModelConfig::layout, the program whose naming scheme the weights follow, from the names in `weights`.
void set_layout(ModelConfig& config, const WeightSource& weights);

// The path of the GGUF file that `path` stands for: `path` itself if it ends in .gguf. If `path` is a folder without
// config.json: its only GGUF model; if gguf-split has divided the model, its first file. "": any other path.
std::string gguf_of(const std::string& path);

// The base model of an adapter: base_model_name_or_path in adapter_config.json, if `folder` has that file and no
// config.json; "": any other folder. A relative path is looked for in the current folder, then in the adapter's folder,
// then in each of its parent folders. If it is found nowhere, it is returned unchanged. H2305: the file names
// no model, or the model is an adapter too. H2210: the file is not a JSON object. Errors of read_json_object().
Result<std::string> base_of_adapter(const std::string& folder);

// Whether a folder has the files of a tokenizer: tokenizer.json, vocab.json, vocab.txt or spiece.model.
bool has_tokenizer(const std::string& folder);

// The task on which hone trained a model or adapter, from hone_task.json. TrainedTask::task is "" without that file.
// `name`: a folder, a file of weights or a hub name. H2210: the file has another form. Errors of the hub and of reading
// the file.
Result<TrainedTask> open_trained_task(const std::string& name, const OpenOptions& options = {});

}  // namespace hone
