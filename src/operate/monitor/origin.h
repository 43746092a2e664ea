// Finds the names by which people know models and data, such as "t5-small" for a local copy. FOLDER below is a folder
// that hone pull filled: it has the names in hone_origin.json. The Hugging Face cache has them in its paths.
#pragma once

#include <map>
#include <string>

#include "base/core/error.h"

namespace hone {

inline constexpr const char* kOriginFile = "hone_origin.json";

struct PulledNames {
  std::string model = {};    // "t5-small"
  std::string dataset = {};  // "cnn_dailymail 3.0.0"; "": none
  // Name of a file in FOLDER/data -> the file of this machine from which hone pull copied it. Both have the same lines.
  // "train-00000-of-00001.jsonl" -> "rows/train.jsonl".
  std::map<std::string, std::string> files = {};
};
// Writes FOLDER/hone_origin.json with the names of FOLDER/model and FOLDER/data. Errors: those of the store.
Status write_origin(const std::string& folder, const PulledNames& origin);

// The name of a model at a path or URL: "t5-small". The path or URL itself if it has no other name.
std::string model_name_of(const std::string& place);
// The name of data at a path or URL: a file or a folder of files. For a folder of token shards, the names of the files
// that the shards were made from, separated by blanks; these names may be relative to a parent folder of `place`. The
// path or URL itself if the data have no other name.
std::string data_name_of(const std::string& place);
// The files that a folder of token shards was made from: a line "<split>\t<SHA-256 in hexadecimal>" for each. "" for
// other data.
std::string source_hashes(const std::string& place);
// Returns `text` with each path of a file below `data`, a folder FOLDER/data, replaced by the path of the file from
// which hone pull copied it, if that file still exists. A person who corrects the data needs the original files.
std::string with_pulled_files(const std::string& data, std::string text);

}  // namespace hone
