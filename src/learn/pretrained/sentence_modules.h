// The files of sentence-transformers in a model folder: modules.json and those it names, prompts, the length of texts.
#pragma once

#include <optional>
#include <string>

#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/sentence_settings.h"

namespace hone {

// Reads modules.json of a folder, or a GGUF file's own keys (gguf_modules.h).
// None: the folder has no modules.json, the file no pooling. H2210: a file is not a JSON object. H2286: a module, key or value that hone does not compute.
Result<std::optional<SentenceModules>> read_sentence_modules(const std::string& folder);
// Writes all files but the weights of dense layers. `hidden`: the hidden size of the model.
Status write_sentence_modules(const std::string& folder, const SentenceModules& modules,
                              int64_t hidden);
// Writes the modules of the model at `from`, with the weights of dense layers, if it has any. A warning of the log:
// they are ones that hone does not compute, and are left out.
Status copy_sentence_modules(const std::string& from, const std::string& folder, int64_t hidden);

// Makes the opened model one that embeds texts: its head is none, the weights of dense layers are among its own.
// Errors: those of set_head and of the files of dense layers; H2286: a dense layer does not fit the model.
Status embed_with(Pretrained& model, const SentenceModules& modules);
// Writes the weights of a dense layer into its folder; `weight` [out,in], `bias` [out] or nothing.
Status write_dense(const std::string& folder, const EmbeddingDense& dense,
                   std::span<const float> weight, std::span<const float> bias);

// The activation that a cross-encoder of the folder puts on its only logit: "sigmoid" or "identity". H2286: another one.
Result<std::string> score_activation(const ModelConfig& config);

}  // namespace hone
