// The folders whose files the page "Data" of hone ui may show, and the data files in these folders.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/monitor/run_list.h"

namespace hone {

// The real path of `path`: absolute, without links and "..". `path` may be relative to `folder`. nullopt if the file
// or folder is missing or outside of `folder`.
std::optional<std::string> path_below(const std::string& folder, const std::string& path);
// Whether the path is a regular file: not a folder, and not a pipe or device, which may block for ever.
bool is_regular(const std::string& path);
// Whether the path is a GGUF file, or a folder with config.json, adapter_config.json or a GGUF file.
bool is_model(const std::string& path);

struct DataPlaces {
  std::string folder;             // files in this folder have names relative to it
  std::vector<std::string> more;  // other folders; files in them have absolute paths as names

  // The real path of a file or folder by its name or path; nullopt if it is missing or outside of all folders.
  std::optional<std::string> find(const std::string& path) const;
  // The name of a real path, for find().
  std::string name_of(const std::string& real) const;
  // The name of a folder or file from which a run's tokenizer can be read: the run's output folder, else its initial
  // model. "" if neither is a model in the folders.
  std::string model_of(const RunRow& run) const;
  // The settings of a run. If the run trained on prepared shards (files of token ids that hone prepare wrote), the
  // settings with which the shards were made replace or extend them.
  OrderedJson row_settings_of(const RunRow& run) const;
};

// An object with three lists. "files" has the data files. "models" has the folders with a tokenizer, and the GGUF
// files. "sets" has the data sets of `runs`, each with the runs that read it. `runs` must be a result of
// with_attempts(), with the newest run first.
OrderedJson data_listing(const DataPlaces& places, const std::vector<RunRow>& runs);

// The full path for a path in a run's settings, which may be relative to the folder in which its command was typed.
std::string path_of_run(const RunRow& run, const std::string& path);

}  // namespace hone
