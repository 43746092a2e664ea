// The identity of a model: a hash of the files that a server would load.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Names of the files that a server would load, sorted. Errors as below.
Result<std::vector<std::string>> model_files(const std::string& folder);

// "sha256:<64 digits>" over name and SHA-256 of each file that resolve_model() of base/store/hub.h
// would take (configuration, tokenizer, weights, adapter) and of *.gguf, in the order of their
// names. Results, logs and checkpoints beside them do not count. A folder or URL. Errors: H3140 no
// weights, those of the store.
Result<std::string> hash_model(const std::string& folder);

// "sha256:..." of a file, or of the names and contents of all files below a folder, to compare data
// later. The hash of token shards is that of the data that they were made from: of splits and contents of these files.
// Errors: those of the store.
Result<std::string> hash_data(const std::string& path);

// The same over data files, by content and order alone: "" for none. Errors: those of the store.
Result<std::string> hash_files(const std::vector<std::string>& files);
// hash_files() of files whose SHA-256, in hexadecimal, are known.
std::string hash_of_sums(const std::vector<std::string>& sums);

}  // namespace hone
