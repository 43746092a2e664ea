// Names that people know models and data by. A folder that hone pull filled has them in
// hone_origin.json; the hub's cache has them in its paths.
#pragma once

#include <map>
#include <string>

#include "base/core/error.h"

namespace hone {

inline constexpr const char* kOriginFile = "hone_origin.json";

struct PulledNames {
  std::string model = {};    // "t5-small"
  std::string dataset = {};  // "cnn_dailymail 3.0.0"
  // The files of this machine that FOLDER/data has, line by line, under other names:
  // "train-00000-of-00001.jsonl" -> "rows/train.jsonl".
  std::map<std::string, std::string> files = {};
};
// Writes the names of FOLDER/model and FOLDER/data. Errors: those of the store.
Status write_origin(const std::string& folder, const PulledNames& origin);

// The name of a model at a path or URL; the path or URL itself if it has no other name.
std::string model_name_of(const std::string& place);
// The name of data: a file, a folder of files, or a folder of token shards, which names the files that
// it was made from. Their paths may be relative to a folder above `place`, where they were prepared.
std::string data_name_of(const std::string& place);
// Split and SHA-256 of the files that a folder of token shards was made from, one a line; "" for other data.
std::string source_hashes(const std::string& place);
// `text` with the files below `data`, which is FOLDER/data, under the names that they have where hone
// pull copied them from, if they are still there: for a reader who corrects them.
std::string with_pulled_files(const std::string& data, std::string text);

}  // namespace hone
