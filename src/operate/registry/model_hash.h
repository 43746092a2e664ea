// Identifies a model by a hash of the files that a server would load, and data by a hash of their content.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// The names of the files in a folder or URL that a server would load, sorted. Errors: H3140 the folder has no weights;
// those of the store.
Result<std::vector<std::string>> model_files(const std::string& folder);

// "sha256:<64 digits>" over the name and SHA-256 of each of model_files(): the configuration, tokenizer, weights and
// adapter that resolve_model() (base/store/hub.h) would take, and *.gguf. Results, logs and checkpoints in the same
// folder do not change the hash. `folder` may be a URL. Errors: H3140 the folder has no weights; those of the store.
Result<std::string> hash_model(const std::string& folder);

// "sha256:<64 digits>" of a data file, or over the paths and contents of all files below a folder. For a folder of
// token shards (files that hone prepare wrote) the hash is over the source files of the shards: the split and the
// content of each. Errors: those of the store.
Result<std::string> hash_data(const std::string& path);

// "sha256:<64 digits>" over the contents of several files in the order of the list. Their names do not matter. "" for
// an empty list. Errors: those of the store.
Result<std::string> hash_files(const std::vector<std::string>& files);
// hash_files() of files whose SHA-256 sums are known. `sums` are in hexadecimal, without a prefix.
std::string hash_of_sums(const std::vector<std::string>& sums);

}  // namespace hone
