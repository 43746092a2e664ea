#include "operate/monitor/origin.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/store.h"
#include "learn/data/shards/shard_names.h"

namespace hone {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// A missing or damaged file has no members, and a pipe is not read: it may block for ever.
OrderedJson read_members(const std::string& file) {
  std::error_code failed;
  if (!is_url(file) && !std::filesystem::is_regular_file(file, failed))
    return OrderedJson::object();
  const Result<bool> there = file_store().exists(file);
  if (!there.ok() || !*there) return OrderedJson::object();
  const Result<std::string> text = file_store().read(file);
  if (!text.ok()) return OrderedJson::object();
  const Result<OrderedJson> parsed = parse_ordered_json(*text, file);
  return parsed.ok() && parsed->is_object() ? *parsed : OrderedJson::object();
}

// "org/name" of ".../models--org--name/snapshots/<commit>"; "" for other paths.
std::string name_in_cache(const std::string& path, const std::string& kind) {
  const std::string begin = kind + "--";
  for (const std::string& part : split(path, '/')) {
    if (!part.starts_with(begin)) continue;
    std::string name = part.substr(begin.size());
    for (size_t at; (at = name.find("--")) != std::string::npos;) name.replace(at, 2, "/");
    return name;
  }
  return "";
}

// A path of a manifest in `place`: relative to the folder where the shards were made, which is this one or one above them.
std::string found_from(const std::string& place, const std::string& file) {
  if (file.starts_with('/') || is_url(file) || !place.starts_with('/')) return file;
  for (std::string at = place; !at.empty() && at != ".";) {
    at = at.substr(0, at.rfind('/'));
    if (path_exists(at + "/" + file)) return at + "/" + file;
  }
  return file;
}

OrderedJson sources_of(const std::string& place) {
  const OrderedJson shards = read_members(place + "/" + kShardManifest);
  const OrderedJson& sources = value_at(shards, "sources");
  return sources.is_array() ? sources : OrderedJson::array();
}

// `place` is FOLDER/data or a file in it, or anything else.
std::string named_data(const std::string& place) {
  for (const std::string& data : {place, folder_of(place)}) {
    if (last_part(data) != "data") continue;
    std::string name = text_at(read_members(folder_of(data) + "/" + kOriginFile), "dataset");
    if (!name.empty()) return name;
  }
  const std::string name = name_in_cache(place, "datasets");
  return name.empty() ? place : name;
}

}  // namespace

Status write_origin(const std::string& folder, const PulledNames& origin) {
  OrderedJson j = {{"model", origin.model}};
  if (!origin.dataset.empty()) j["dataset"] = origin.dataset;
  for (const auto& [name, from] : origin.files) j["files"][name] = from;
  return file_store().write(folder + "/" + kOriginFile, dump_json(j) + "\n");
}

std::string model_name_of(const std::string& given) {
  const std::string place = without_end_slash(given);
  if (place.find('/') == std::string::npos) return place;
  if (last_part(place) == "model")
    if (std::string name = text_at(read_members(folder_of(place) + "/" + kOriginFile), "model");
        !name.empty())
      return name;
  const std::string name = name_in_cache(place, "models");
  return name.empty() ? place : name;
}

std::string data_name_of(const std::string& given) {
  const std::string place = without_end_slash(given);
  const OrderedJson sources = sources_of(place);
  if (sources.empty()) return named_data(place);
  std::vector<std::string> names;
  for (const OrderedJson& source : sources)
    if (const std::string file = text_at(source, "file"); !file.empty()) {
      const std::string found = found_from(place, file), known = named_data(found);
      const std::string& name = known == found ? file : known;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  return names.empty() ? place : join(names, " ");
}

std::string source_hashes(const std::string& given) {
  std::string lines;
  for (const OrderedJson& source : sources_of(without_end_slash(given))) {
    const std::string hash = text_at(source, "sha256");
    if (hash.empty()) return "";
    lines += text_at(source, "split") + "\t" + hash + "\n";
  }
  return lines;
}

std::string with_pulled_files(const std::string& given, std::string text) {
  const std::string data = without_end_slash(given);
  if (last_part(data) != "data" || text.find(data + "/") == std::string::npos) return text;
  const OrderedJson origin = read_members(folder_of(data) + "/" + kOriginFile);
  const OrderedJson& files = value_at(origin, "files");
  if (!files.is_object()) return text;
  for (const auto& [name, from] : files.items()) {
    if (!from.is_string() || !path_exists(from.get<std::string>())) continue;
    const std::string copy = data + "/" + name, own = from.get<std::string>();
    for (size_t at = 0; (at = text.find(copy, at)) != std::string::npos; at += own.size())
      text.replace(at, copy.size(), own);
  }
  return text;
}

}  // namespace hone
