// The folders whose files the page Data may show, and their contents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "operate/monitor/run_list.h"

namespace hone {

// The real path of `path` below `folder`, after links and ".."; nothing if it is outside or
// missing.
std::optional<std::string> path_below(const std::string& folder, const std::string& path);
// A file, and not a pipe or device, which may block for ever.
bool is_regular(const std::string& path);
// Whether a folder or file has a model, or an adapter: config.json, adapter_config.json, or GGUF.
bool is_model(const std::string& path);

struct DataPlaces {
  std::string folder;             // paths are relative to it
  std::vector<std::string> more;  // other folders, whose files are named by whole paths

  // The real path; nothing if it is missing or outside of all folders.
  std::optional<std::string> find(const std::string& path) const;
  // The name of a real path, which find() understands.
  std::string name_of(const std::string& real) const;
  // A folder or file from which a run's tokenizer can be read: what the run wrote, else its initial
  // model; "" if neither is in the folders.
  std::string model_of(const RunRow& run) const;
  // The settings of a run; if it trained on prepared shards, with those that they were made with.
  OrderedJson row_settings_of(const RunRow& run) const;
};

// {"files", "models", "sets"}: data files, folders with a tokenizer and GGUF files, and the data sets of the runs with
// the runs that read them, the newest first; `runs` as with_attempts() gives them. An attempt is listed under its run.
OrderedJson data_listing(const DataPlaces& places, const std::vector<RunRow>& runs);

// The whole path of a path in a run's settings, which is relative to the folder of its command.
std::string path_of_run(const RunRow& run, const std::string& path);

}  // namespace hone
