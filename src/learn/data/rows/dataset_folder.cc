#include "learn/data/rows/dataset_folder.h"

#include <algorithm>
#include <filesystem>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/rows/errors.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string dict_file(const std::string& folder) { return folder + "/dataset_dict.json"; }
std::string state_file(const std::string& folder) { return folder + "/state.json"; }

Error damaged(const std::string& what, const std::string& name) {
  return Error(err::kDatasetFolder, what)
      .at(name)
      .todo("write the folder again with save_to_disk of the datasets library");
}

// A file or folder inside the dataset, never outside.
bool is_plain_name(const Json& value) {
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

}  // namespace

bool is_dataset_folder(const std::string& path) {
  return is_folder(path) && (path_exists(dict_file(path)) || path_exists(state_file(path)));
}

Result<std::vector<std::string>> splits_of_text(std::string_view text, const std::string& name) {
  const Json json = HONE_TRY(parse_json(text, name));
  std::vector<std::string> splits;
  const bool has = json.is_object() && json.contains("splits") && json["splits"].is_array();
  if (!has || json["splits"].empty()) return damaged("there is no list of splits", name);
  for (const Json& split : json["splits"]) {
    if (!is_plain_name(split))
      return damaged(dump_json(split) + " is not the name of a split", name);
    splits.push_back(split.get<std::string>());
  }
  return splits;
}

Result<std::vector<std::string>> files_of_text(std::string_view text, const std::string& name) {
  const Json json = HONE_TRY(parse_json(text, name));
  std::vector<std::string> files;
  const bool has =
      json.is_object() && json.contains("_data_files") && json["_data_files"].is_array();
  if (!has || json["_data_files"].empty()) return damaged("there is no list of data files", name);
  for (const char* key : {"_indices_data_files", "_indices_files"}) {
    if (!json.contains(key) || json[key].is_null() || json[key].empty()) continue;
    return Error(err::kDatasetFolder, "the rows of this dataset are chosen by an indices file")
        .at(name)
        .todo(
            "write it again with a datasets library of 2.0 or later, which saves the chosen rows: "
            "load_from_disk(x).flatten_indices().save_to_disk(y)");
  }
  for (const Json& file : json["_data_files"]) {
    if (!file.is_object() || !file.contains("filename") || !is_plain_name(file["filename"]))
      return damaged(dump_json(file) + " names no data file", name);
    files.push_back(file["filename"].get<std::string>());
  }
  return files;
}

Result<std::vector<std::string>> dataset_splits(const std::string& folder) {
  const std::string file = dict_file(folder);
  if (!path_exists(file)) return std::vector<std::string>{};
  return splits_of_text(HONE_TRY(read_file(file)), file);
}

Result<std::vector<std::string>> dataset_files(const std::string& folder,
                                               const std::string& split) {
  std::string place = without_end_slash(folder);
  const std::vector<std::string> splits = HONE_TRY(dataset_splits(place));
  if (!splits.empty()) {
    if (std::find(splits.begin(), splits.end(), split) == splits.end())
      return Error(err::kDatasetFolder,
                   fmt::format("the dataset '{}' has no split '{}'", folder, split))
          .todo(fmt::format("it has {}; name one by its folder, for example {}/{}",
                            join(splits, ", "), place, splits[0]));
    place += "/" + split;
  }
  if (!path_exists(state_file(place))) return damaged("there is no state.json", place);
  std::vector<std::string> files =
      HONE_TRY(files_of_text(HONE_TRY(read_file(state_file(place))), state_file(place)));
  for (std::string& file : files) {
    file = place + "/" + file;
    if (!path_exists(file))
      return damaged(fmt::format("the data file '{}' is missing", file), place);
  }
  return files;
}

}  // namespace hone
