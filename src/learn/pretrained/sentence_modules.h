// Reads and writes the files that sentence-transformers adds to a model folder: modules.json, the folders of the
// modules that it lists (1_Pooling, 2_Dense, ...), the prompts and the maximum length of texts.
#pragma once

#include <optional>
#include <string>

#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/sentence_settings.h"

namespace hone {

// Reads modules.json of a model folder, or the keys of a GGUF file (gguf_modules.h). None: the folder has no
// modules.json, or the GGUF file does not embed texts. H2210: a file is not a JSON object. H2286: a module, key or
// value is not supported. H2209: the pooling in a GGUF file is not supported.
Result<std::optional<SentenceModules>> read_sentence_modules(const std::string& folder);
// Writes all files that sentence-transformers adds, except the weights of dense layers. `hidden`: the hidden size of
// the model.
Status write_sentence_modules(const std::string& folder, const SentenceModules& modules,
                              int64_t hidden);
// Copies the modules of the model at `from` into `folder`, with the weights of their dense layers. Does nothing if
// `from` has no modules. If its modules are not supported, nothing is copied and a warning is logged. H2286: a file of
// weights cannot be copied.
Status copy_sentence_modules(const std::string& from, const std::string& folder, int64_t hidden);

// Turns an opened model into one that embeds texts: sets its head to Head::none and config.embedding to the modules,
// and adds the weights of dense layers to model.weights. H2286: a dense layer does not fit the model. Errors of
// set_head() and open_weights().
Status embed_with(Pretrained& model, const SentenceModules& modules);
// Writes the weights of a dense layer to <folder>/<dense.folder>/model.safetensors. `weight`: [out,in]; `bias`: [out],
// empty if dense.bias is false.
Status write_dense(const std::string& folder, const EmbeddingDense& dense,
                   std::span<const float> weight, std::span<const float> bias);

// The activation that sentence-transformers' CrossEncoder applies to the model's only logit, from config.json:
// "sigmoid" or "identity"; "sigmoid" if config.json names none. H2286: another activation.
Result<std::string> score_activation(const ModelConfig& config);

}  // namespace hone
