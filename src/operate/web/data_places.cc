#include "operate/web/data_places.h"

#include <algorithm>
#include <filesystem>

#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/store.h"
#include "learn/checkpoint/gguf/gguf_parts.h"
#include "learn/data/formats/rows.h"
#include "learn/data/rows/files.h"
#include "learn/data/shards/shard_names.h"
#include "learn/data/shards/shards.h"
#include "learn/models/adapter_config.h"
#include "learn/pretrained/open.h"
#include "operate/monitor/run_list.h"
#include "operate/web/image_folders.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostListed = 500, kMostSets = 100;
constexpr int kSetLevels = 2;
constexpr const char* kDatasetName = "dataset_name";  // a folder, or a name of the hub
constexpr int64_t kMostManifestBytes = 16 << 20, kMostListedRowBytes = 1 << 20;

// Parts of names of files that hone and Transformers write beside data.
constexpr const char* kOwnNames[] = {"config",       "tokenizer",   "vocab",    "results",
                                     "state",        "hone_",       "adapter",  "merges",
                                     "tokens_map",   "index.json",  "run.json", "slices.json",
                                     "dataset_info", "dataset_dict"};

struct Listing {
  std::vector<std::string> files, models;  // real paths
};

// Whether a .json file has rows. One object alone is a recipe, a result or a decision.
bool holds_json_rows(const fs::path& file) {
  const auto bytes = file_store().bytes(file.string());
  if (!bytes.ok()) return false;
  const auto head = file_store().read(file.string(), 0, std::min<int64_t>(*bytes, 64));
  if (head.ok() && trim(*head).starts_with('[')) return true;
  RowOptions options;
  options.limits = {.row_bytes = kMostListedRowBytes, .whole_bytes = kMostListedRowBytes};
  const auto rows = open_rows({file.string()}, options);
  Row row;
  for (int i = 0; i < 2; ++i) {
    if (!rows.ok()) return false;
    if (const auto is_there = (*rows)->next(row); !is_there.ok() || !*is_there) return false;
  }
  return true;
}

// Whether a file may be data: it has a format of rows, and no program keeps it for itself.
bool is_data_file(const fs::path& file) {
  const std::string name = file.filename().string(), ending = file.extension().string();
  for (const char* part : kOwnNames)
    if (name.find(part) != std::string::npos) return false;
  if (!find_format(name, {}).ok()) return false;
  // Weights have the ending of Megatron's tokens, which have an index beside them.
  if (ending == ".bin") return path_exists(fs::path(file).replace_extension(".idx").string());
  if (ending != ".json") return true;
  return !path_exists((file.parent_path() / "config.json").string()) && holds_json_rows(file);
}

void list_below(const fs::path& folder, int levels, Listing& to) {
  std::error_code failed;
  std::vector<fs::path> names;
  std::vector<std::string> ggufs;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    names.push_back(it->path());
  std::sort(names.begin(), names.end());
  for (const fs::path& at : names) {
    if (at.filename().string().starts_with('.') || fs::is_symlink(at, failed)) continue;
    if (fs::is_directory(at, failed)) {
      if (has_tokenizer(at.string()) && to.models.size() < kMostListed)
        to.models.push_back(at.string());
      if (levels > 0) list_below(at, levels - 1, to);
    } else if (fs::is_regular_file(at, failed)) {  // a pipe would never end
      if (at.extension() == ".gguf")
        ggufs.push_back(at.string());
      else if (to.files.size() < kMostListed && is_data_file(at))
        to.files.push_back(at.string());
    }
  }
  for (std::string& file : first_gguf_parts(ggufs))
    if (to.models.size() < kMostListed) to.models.push_back(std::move(file));
}

// The manifest of a folder of prepared shards; nothing for other folders.
std::optional<ShardManifest> manifest_of(const std::string& folder) {
  const std::string file = folder + "/" + kShardManifest;
  if (!is_regular(file)) return {};
  const auto bytes = file_store().bytes(file);
  if (!bytes.ok() || *bytes > kMostManifestBytes) return {};
  auto made = read_shard_manifest(folder);
  return made.ok() ? std::optional(std::move(*made)) : std::nullopt;
}

OrderedJson names_of(const DataPlaces& places, const std::vector<std::string>& real) {
  OrderedJson names = OrderedJson::array();
  for (const std::string& path : real) names.push_back(places.name_of(path));
  return names;
}

std::vector<std::string> texts_of(const OrderedJson& value) {
  std::vector<std::string> texts;
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) texts.push_back(value);
  if (value.is_array())
    for (const OrderedJson& one : value)
      if (one.is_string()) texts.push_back(one);
  return texts;
}

// The data of a path or pattern of a run.
OrderedJson set_json(const DataPlaces& places, const RunRow& run, const char* key,
                     const std::string& typed) {
  const std::string path = path_of_run(run, typed);
  const bool of_hub = std::string_view(key) == kDatasetName && !path_exists(path);
  OrderedJson set = {{"name", of_hub || is_url(typed) ? typed : path},
                     {"path", ""},
                     {"kind", "elsewhere"},
                     {"files", OrderedJson::array()}};
  const bool pattern = typed.find_first_of("*?[") != std::string::npos;
  const auto real = places.find(pattern ? fs::path(path).parent_path().string() : path);
  if (!real) return set;
  if (pattern) {
    set["kind"] = "files";
    if (const auto files = expand_files(std::vector<std::string>{path}); files.ok())
      for (const std::string& file : *files)
        if (const auto inside = places.find(file)) set["files"].push_back(places.name_of(*inside));
    return set;
  }
  set["path"] = places.name_of(*real);
  if (is_regular(*real)) {
    set["kind"] = "file";
    set["files"].push_back(set["path"]);
  } else if (is_folder(*real)) {
    Listing inside;
    list_below(*real, kSetLevels, inside);
    set["kind"] = manifest_of(*real) ? "prepared" : "folder";
    set["files"] = names_of(places, inside.files);
    if (const auto images = image_folders_in(*real); !images.empty()) {
      set["kind"] = "images";
      set["files"] = names_of(places, images);
    }
  }
  return set;
}

// Sources of prepared shards, from which the page leads to the rows before they were tokens.
OrderedJson sources_json(const DataPlaces& places, const RunRow& run, const std::string& folder) {
  OrderedJson sources = OrderedJson::array();
  const auto made = manifest_of(folder);
  if (!made) return sources;
  for (const OrderedJson& source : made->sources) {
    const std::string file = text_at(source, "file");
    const auto real = places.find(path_of_run(run, file));
    sources.push_back({{"split", text_at(source, "split")},
                       {"name", file},
                       {"file", real ? places.name_of(*real) : ""}});
  }
  return sources;
}

// Adds the data of a setting of an attempt, which `run` is or has among its earlier ones.
void add_set(const DataPlaces& places, const RunRow& run, const RunRow& attempt, const char* key,
             const std::string& typed, OrderedJson& sets) {
  OrderedJson set = set_json(places, attempt, key, typed);
  auto to = std::find_if(sets.begin(), sets.end(), [&](const OrderedJson& known) {
    const char* by = text_at(set, "path").empty() ? "name" : "path";
    return known.at(by) == set.at(by);
  });
  if (to == sets.end()) {
    if (sets.size() >= kMostSets) return;
    if (text_at(set, "kind") == "prepared")
      set["sources"] = sources_json(places, attempt, *places.find(path_of_run(attempt, typed)));
    set["runs"] = OrderedJson::array();
    sets.push_back(std::move(set));
    to = sets.end() - 1;
  }
  OrderedJson attempts = OrderedJson::array();
  for (const RunRow& earlier : run.earlier) attempts.push_back(text_at(earlier.run, "id"));
  const OrderedJson reader = {{"id", text_at(run.run, "id")},
                              {"attempts", attempts},
                              {"name", text_at(run.run, "name")},
                              {"task", text_at(run.run, "task")},
                              {"setting", key},
                              {"model", places.model_of(run)}};
  OrderedJson& readers = (*to)["runs"];
  if (std::find(readers.begin(), readers.end(), reader) == readers.end()) readers.push_back(reader);
}

// The data that an attempt read: one that found its run ended may have evaluated.
void add_sets(const DataPlaces& places, const RunRow& run, const RunRow& attempt,
              OrderedJson& sets) {
  if (attempt.ended_before && results_of(attempt).empty()) return;
  for (const char* key :
       {"train_file", "validation_file", kDatasetName, "train_dir", "validation_dir"}) {
    if (attempt.ended_before && !std::string_view(key).starts_with("validation_")) continue;
    for (const std::string& typed : texts_of(value_at(value_at(attempt.run, "settings"), key)))
      add_set(places, run, attempt, key, typed, sets);
  }
}

OrderedJson sets_json(const DataPlaces& places, const std::vector<RunRow>& runs) {
  OrderedJson sets = OrderedJson::array();
  for (const RunRow& run : runs) {
    add_sets(places, run, run, sets);
    for (const RunRow& attempt : run.earlier) add_sets(places, run, attempt, sets);
  }
  return sets;
}

}  // namespace

std::optional<std::string> path_below(const std::string& folder, const std::string& path) {
  std::error_code failed;
  const fs::path root = fs::canonical(folder, failed);
  if (failed || path.find('\0') != std::string::npos || is_url(path)) return {};
  const fs::path at = fs::canonical(root / path, failed);
  if (failed) return {};
  const fs::path relative = at.lexically_relative(root);
  if (relative.empty() || *relative.begin() == "..") return {};
  return at.string();
}

bool is_regular(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

bool is_model(const std::string& path) {
  for (const char* file : {"config.json", kAdapterConfigFile})
    if (is_regular(path + "/" + file)) return true;
  const std::string gguf = gguf_of(path);
  return !gguf.empty() && is_regular(gguf);
}

std::string path_of_run(const RunRow& run, const std::string& path) {
  return (fs::path(text_at(run.run, "folder")) / path).lexically_normal().string();
}

std::optional<std::string> DataPlaces::find(const std::string& path) const {
  if (auto inside = path_below(folder, path)) return inside;
  for (const std::string& root : more)
    if (auto inside = path_below(root, path)) return inside;
  return {};
}

std::string DataPlaces::name_of(const std::string& real) const {
  std::error_code failed;
  const fs::path relative = fs::path(real).lexically_relative(fs::canonical(folder, failed));
  return failed || relative.empty() || *relative.begin() == ".." ? real : relative.string();
}

std::string DataPlaces::model_of(const RunRow& run) const {
  const std::string written = fs::path(run.log).parent_path().string();
  const std::string initial = text_at(value_at(run.run, "settings"), "model_name_or_path");
  for (const std::string& model : {written, path_of_run(run, initial)})
    if (const auto real = find(model); real && is_model(*real)) return name_of(*real);
  return "";
}

OrderedJson DataPlaces::row_settings_of(const RunRow& run) const {
  OrderedJson settings = value_at(run.run, "settings");
  for (const std::string& typed : texts_of(value_at(settings, "train_file")))
    if (const auto real = find(path_of_run(run, typed)))
      if (const auto made = manifest_of(*real)) settings.update(made->settings);
  return settings;
}

OrderedJson data_listing(const DataPlaces& places, const std::vector<RunRow>& runs) {
  Listing all;
  if (const auto root = path_below(places.folder, ".")) list_below(*root, kSearchedLevels, all);
  for (const std::string& more : places.more)
    if (const auto root = path_below(more, ".")) list_below(*root, kSearchedLevels, all);
  return {{"sets", sets_json(places, runs)},
          {"files", names_of(places, all.files)},
          {"models", names_of(places, all.models)}};
}

}  // namespace hone
