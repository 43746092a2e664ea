#include "learn/data/shards/shards.h"

#include <algorithm>
#include <filesystem>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/shards/errors.h"
#include "learn/data/shards/shard_names.h"

namespace hone {
namespace {

constexpr const char* kFormat = "hone token shards";
constexpr int64_t kVersion = 1;

Error damaged(const std::string& what, const std::string& name) {
  return Error(err::kShards, what)
      .at(name)
      .todo("make the shards again: hone prepare with `overwrite_output_dir`");
}

std::string flag_text(const OrderedJson& value) {
  return value.is_string() ? value.get<std::string>() : dump_json(value);
}

// Throws for what is not a whole number: 1e99 as an integer is undefined.
int64_t whole(const OrderedJson& json) {
  if (!json.is_number_integer())
    throw std::invalid_argument(json.dump() + " is not a whole number");
  return json.get<int64_t>();
}

}  // namespace

int64_t ShardSplit::rows() const {
  int64_t sum = 0;
  for (const ShardFile& s : shards) sum += s.rows;
  return sum;
}

int64_t ShardSplit::tokens() const {
  int64_t sum = 0;
  for (const ShardFile& s : shards) sum += s.tokens;
  return sum;
}

OrderedJson split_to_json(const ShardSplit& split) {
  OrderedJson json, shards = OrderedJson::array();
  for (const ShardFile& s : split.shards) {
    shards.push_back({{"file", s.file},
                      {"rows", s.rows},
                      {"tokens", s.tokens},
                      {"bytes", s.bytes},
                      {"offsets_at", s.offsets_at},
                      {"ids_at", s.ids_at}});
    for (const ShardColumn& c : s.beside) {
      OrderedJson column = {{"name", c.name}, {"type", kind_name(c.kind)}, {"count", c.count}};
      if (c.kind == ShardColumn::Kind::kList) column["offsets_at"] = c.offsets_at;
      column["values_at"] = c.values_at;
      shards.back()["beside"].push_back(std::move(column));
    }
  }
  json["name"] = split.name;
  json["rows"] = split.rows();
  json["tokens"] = split.tokens();
  json["rows_hash"] = fmt::format("{:016x}", split.hash);
  json["ids"] = {split.min_id, split.max_id};
  const TextCounts& c = split.counts;
  if (split.about.is_null())
    json["counts"] = {{"rows_read", c.rows_read},           {"tokens_read", c.tokens_read},
                      {"rows_kept", c.rows_kept},           {"tokens_kept", c.tokens_kept},
                      {"tokens_dropped", c.tokens_dropped}, {"rows_cut", c.rows_cut},
                      {"rows_too_short", c.rows_too_short}, {"eos_appended", c.eos_appended}};
  else
    json["about"] = split.about;
  json["shards"] = std::move(shards);
  return json;
}

Result<ShardSplit> split_from_json(const OrderedJson& json, const std::string& name) {
  ShardSplit split;
  try {
    split.name = json.at("name").get<std::string>();
    split.hash = std::stoull(json.at("rows_hash").get<std::string>(), nullptr, 16);
    split.min_id = static_cast<int32_t>(whole(json.at("ids").at(0)));
    split.max_id = static_cast<int32_t>(whole(json.at("ids").at(1)));
    if (json.contains("about")) {
      split.about = json["about"];
      if (!split.about.is_object()) throw std::invalid_argument("about is not an object");
    } else {
      const OrderedJson& c = json.at("counts");
      const auto count = [&](const char* key) { return whole(c.at(key)); };
      split.counts = {count("rows_read"),      count("tokens_read"),    count("rows_kept"),
                      count("tokens_kept"),    count("tokens_dropped"), count("rows_cut"),
                      count("rows_too_short"), count("eos_appended")};
    }
    for (const OrderedJson& s : json.at("shards")) {
      split.shards.push_back({s.at("file"),
                              whole(s.at("rows")),
                              whole(s.at("tokens")),
                              whole(s.at("bytes")),
                              whole(s.at("offsets_at")),
                              whole(s.at("ids_at")),
                              {}});
      if (!s.contains("beside")) continue;
      for (const OrderedJson& c : s["beside"]) {
        const auto kind = kind_of(c.at("type").get<std::string>());
        if (!kind) throw std::invalid_argument("a column is of no known type");
        split.shards.back().beside.push_back(
            {c.at("name"), *kind, whole(c.at("count")),
             *kind == ShardColumn::Kind::kList ? whole(c.at("offsets_at")) : 0,
             whole(c.at("values_at"))});
      }
    }
  } catch (const std::exception& e) {
    return damaged(fmt::format("a split of the shards cannot be read: {}", e.what()), name);
  }
  const auto plain = [](const std::string& file) {
    return !file.empty() && file != ".." && file.find('/') == std::string::npos &&
           file.find('\0') == std::string::npos;
  };
  constexpr int64_t kMost = int64_t{1} << 48;  // of tokens and bytes in one shard
  bool good = plain(split.name);
  for (const ShardFile& s : split.shards)
    good = good && plain(s.file) && s.rows >= 0 && s.rows < kMost && s.tokens >= 0 &&
           s.tokens < kMost && s.bytes >= 0 && s.bytes < kMost;
  if (!good) return damaged("a split of the shards has impossible names or sizes", name);
  return split;
}

std::string ShardManifest::to_json() const {
  OrderedJson json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["settings"] = settings;
  json["sources"] = sources;
  json["splits"] = OrderedJson::array();
  for (const ShardSplit& split : splits) json["splits"].push_back(split_to_json(split));
  return dump_json(json, {.indent = 2}) + "\n";
}

bool is_shard_folder(const std::string& path) {
  return path_exists(path + "/" + kShardManifest) || path_exists(path + "/" + kShardProgress);
}

Result<ShardManifest> parse_shard_manifest(std::string_view text, const std::string& name) {
  const OrderedJson json = HONE_TRY(parse_ordered_json(text, name));
  const auto is = [&](const char* key, const OrderedJson& value) {
    return json.is_object() && json.contains(key) && json[key] == value;
  };
  if (!is("format", kFormat)) return damaged("this is not a manifest of token shards", name);
  if (!is("version", kVersion))
    return damaged("the shards were made by another version of hone", name);
  const auto has = [&](const char* key, bool object) {
    return json.contains(key) && (object ? json[key].is_object() : json[key].is_array());
  };
  if (!has("settings", true) || !has("sources", false) || !has("splits", false))
    return damaged("settings, sources or splits are missing", name);
  ShardManifest manifest;
  manifest.settings = json["settings"];
  manifest.sources = json["sources"];
  for (const OrderedJson& split : json["splits"])
    manifest.splits.push_back(HONE_TRY(split_from_json(split, name)));
  return manifest;
}

Result<ShardManifest> read_shard_manifest(const std::string& folder) {
  const std::string file = folder + "/" + kShardManifest;
  Store& store = file_store();
  if (!HONE_TRY(store.exists(file)) && HONE_TRY(store.exists(folder + "/" + kShardProgress)))
    return Error(err::kShards, fmt::format("the shards '{}' are not finished", folder))
        .todo("run the same hone prepare again: it continues after the last finished shard");
  return parse_shard_manifest(HONE_TRY(read_file(file)), file);
}

Status check_same_settings(const OrderedJson& made, const OrderedJson& wanted,
                           const std::string& what) {
  for (const auto& [key, value] : wanted.items()) {
    const OrderedJson was = made.contains(key) ? made[key] : OrderedJson();
    if (was == value) continue;
    if (key.ends_with("tokenizer"))
      return Error(err::kShardsDiffer, fmt::format("{} were made with another tokenizer", what))
          .todo(
              "name the model or `tokenizer_name` that they were made with, or prepare them again "
              "with this one");
    return Error(err::kShardsDiffer, fmt::format("{} were made with `{}` {}, which is {} now", what,
                                                 key, flag_text(was), flag_text(value)))
        .todo(fmt::format("give `{}` {}, or prepare them again in another folder", key,
                          flag_text(was)));
  }
  return Ok{};
}

Result<ShardManifest> checked_shards(const std::vector<std::string>& paths,
                                     const OrderedJson& wanted) {
  if (paths.size() != 1)
    return Error(err::kShards,
                 fmt::format("'{}' holds prepared shards and cannot be joined to other files",
                             paths[0]))
        .todo("give the folder alone, or prepare all files together");
  ShardManifest manifest = HONE_TRY(read_shard_manifest(paths[0]));
  HONE_TRY(
      check_same_settings(manifest.settings, wanted, fmt::format("the shards '{}'", paths[0])));
  return manifest;
}

Result<ShardSplit> find_split(const ShardManifest& manifest, const std::string& split,
                              const std::string& folder) {
  std::vector<std::string> names;
  for (const ShardSplit& s : manifest.splits) {
    if (s.name == split) return s;
    names.push_back(s.name);
  }
  return Error(err::kShards, fmt::format("the shards '{}' have no split '{}'", folder, split))
      .todo(
          fmt::format("they have {}; prepare them again with `{}_file`", join(names, ", "), split));
}

Result<TextData> open_shards(const std::string& folder, const ShardManifest& manifest,
                             const std::string& split) {
  const ShardSplit s = HONE_TRY(find_split(manifest, split, folder));
  TextData data;
  data.counts = s.counts;
  for (const ShardFile& shard : s.shards)
    data.rows.add(HONE_TRY(map_shard(folder + "/" + split, shard)).ids);
  data.rows.set_hash(s.hash);
  if (data.rows.size() == 0) return damaged(fmt::format("the split '{}' is empty", split), folder);
  return data;
}

}  // namespace hone
