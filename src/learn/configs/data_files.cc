#include "learn/configs/data_files.h"

#include <algorithm>
#include <filesystem>
#include <regex>

namespace hone {

bool is_data_file(const std::string& name) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(name, unknown)) return true;
  if (name.find("://") != name.npos) return !name.starts_with("hf://");
  for (const char* ending : {".json", ".jsonl", ".csv", ".tsv", ".txt", ".parquet", ".arrow", ".gz",
                             ".zst", ".bz2", ".xz", ".zip"})
    if (name.ends_with(ending)) return true;
  return false;
}

namespace {

// "train[:10%]" of Hugging Face datasets.
void set_split(const ConfigBlock& file, const NamedData& data) {
  static const std::regex first(R"(train\[:(\d+)(%?)\])");
  if (data.split.empty() || data.split == "train") return;
  std::smatch part;
  const std::string key = data.key + "/split";
  if (!std::regex_match(data.split, part, first))
    return file.cannot(fmt::format("hone does not train on the split '{}'", data.split), key,
                       "write train, train[:1000] or train[:10%]; or name the files of the split");
  const auto many = std::stod(part[1].str());
  if (part[2].length() == 0)
    file.set("max_train_samples", static_cast<int64_t>(many), key);
  else if (many > 100)
    file.cannot(fmt::format("{} is more than all rows", data.split), key, "write at most 100%");
  else
    file.set("fraction_of_train_data", many / 100, key);
}

}  // namespace

void set_train_data(const ConfigBlock& file, const std::vector<NamedData>& data) {
  std::vector<std::string> files;
  for (const NamedData& one : data) {
    if (is_data_file(one.name)) {
      files.push_back(one.name);
      if (data.size() > 1 && !one.split.empty() && one.split != "train")
        file.cannot(fmt::format("a part of one of several files: {}", one.split),
                    one.key + "/split", "remove the split");
      else
        set_split(file, one);
      continue;
    }
    if (data.size() > 1)
      return file.cannot(
          fmt::format("{} is one of several data sets, and not a file", one.name), one.key,
          "hone trains on one data set, or on several files: download them and name their files");
    file.set("dataset_name", one.name, one.key);
    if (!one.config.empty()) file.set("dataset_config_name", one.config, one.key);
    if (!one.revision.empty()) file.set("dataset_revision", one.revision, one.key);
    set_split(file, one);
  }
  if (!files.empty()) file.set("train_file", files, data.front().key);
}

}  // namespace hone
