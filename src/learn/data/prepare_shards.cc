#include <algorithm>

#include "base/store/hash.h"
#include "base/store/store.h"
#include "learn/data/files.h"
#include "learn/data/formats/errors.h"
#include "learn/data/shard_names.h"

namespace hone {
namespace {

Result<OrderedJson> sources_of(const std::vector<CausalPart>& parts) {
  OrderedJson sources = OrderedJson::array();
  for (const CausalPart& part : parts)
    for (const std::string& file : part.files)
      sources.push_back({{"split", part.split},
                         {"file", file},
                         {"bytes", HONE_TRY(file_store().bytes(file))},
                         {"sha256", HONE_TRY(sha256_of_file(file_store(), file))}});
  return sources;
}

// datasets' own files of a split.
Status write_dataset_files(const std::string& folder, const ShardSplit& split) {
  OrderedJson files = OrderedJson::array();
  for (const ShardFile& s : split.shards) files.push_back({{"filename", s.file}});
  OrderedJson state;
  state["_data_files"] = std::move(files);
  state["_fingerprint"] = fmt::format("{:016x}", split.hash);
  state["_format_columns"] = nullptr;
  state["_format_kwargs"] = OrderedJson::object();
  state["_format_type"] = nullptr;
  state["_output_all_columns"] = false;
  state["_split"] = split.name;
  OrderedJson info;
  for (const char* key : {"citation", "description", "homepage", "license"}) info[key] = "";
  info["features"]["input_ids"] = {{"feature", {{"dtype", "int32"}, {"_type", "Value"}}},
                                   {"_type", "Sequence"}};
  HONE_TRY(file_store().write(folder + "/state.json", dump_json(state, {.indent = 2}) + "\n"));
  return file_store().write(folder + "/dataset_info.json", dump_json(info, {.indent = 2}) + "\n");
}

class Preparation {
 public:
  Preparation(const std::vector<CausalPart>& parts, const PrepareOptions& options,
              const Tokenize& tokenize)
      : parts_(parts), options_(options), tokenize_(tokenize) {}

  Result<Prepared> run() {
    out_.manifest.settings = options_.settings;
    out_.manifest.sources = HONE_TRY(sources_of(parts_));
    if (HONE_TRY(find_start())) return std::move(out_);
    for (size_t k = 0; k < parts_.size(); ++k) {
      if (!HONE_TRY(split(parts_[k], k))) return std::move(out_);
    }
    std::erase_if(splits(), [](const ShardSplit& s) { return s.shards.empty(); });
    OrderedJson dict;
    for (const ShardSplit& s : splits()) dict["splits"].push_back(s.name);
    Store& store = file_store();
    HONE_TRY(store.write(in_folder("dataset_dict.json"), dump_json(dict)));
    HONE_TRY(store.write(in_folder(kShardManifest), out_.manifest.to_json()));
    HONE_TRY(store.remove(in_folder(kShardProgress)));
    return std::move(out_);
  }

 private:
  std::string in_folder(const std::string& name) const { return options_.folder + "/" + name; }
  std::vector<ShardSplit>& splits() { return out_.manifest.splits; }

  Status same(const OrderedJson& settings, const OrderedJson& sources) const {
    const std::string what = fmt::format("the shards '{}'", options_.folder);
    HONE_TRY(check_same_settings(settings, out_.manifest.settings, what));
    if (sources != out_.manifest.sources)
      return Error(err::kShardsDiffer, fmt::format("{} were made of other files", what))
          .todo("give another --output_dir, or --overwrite_output_dir to make them again");
    return Ok{};
  }

  // True when all is done already. Reads the progress of a run that was killed.
  Result<bool> find_start() {
    Store& store = file_store();
    const std::string progress = in_folder(kShardProgress);
    if (HONE_TRY(store.exists(progress))) {
      const OrderedJson json =
          HONE_TRY(parse_ordered_json(HONE_TRY(store.read(progress)), progress));
      const auto has = [&](const char* key) { return json.is_object() && json.contains(key); };
      if (!has("settings") || !has("sources") || !has("splits") || !has("place"))
        return Error(err::kShards, "the progress of the shards cannot be read").at(progress);
      HONE_TRY(same(json["settings"], json["sources"]));
      for (const OrderedJson& s : json["splits"])
        splits().push_back(HONE_TRY(split_from_json(s, progress)));
      place_ = HONE_TRY(place_from_json(Json::parse(json["place"].dump()), progress));
      if (!splits().empty())
        out_.notes.push_back(fmt::format("going on behind {} finished shards of the split '{}'",
                                         splits().back().shards.size(), splits().back().name));
      return false;
    }
    if (is_shard_folder(options_.folder)) {
      ShardManifest made = HONE_TRY(read_shard_manifest(options_.folder));
      HONE_TRY(same(made.settings, made.sources));
      out_.manifest = std::move(made);
      out_.was_there = true;
      return true;
    }
    if (HONE_TRY(store.exists(options_.folder)) && !HONE_TRY(store.list(options_.folder)).empty())
      return Error(err::kShards, fmt::format("the folder '{}' holds other files", options_.folder))
          .todo("give another --output_dir");
    HONE_TRY(store.make_dirs(options_.folder));
    HONE_TRY(save({}));  // the folder is known for what it is from the start
    return false;
  }

  // False when the work was stopped.
  Result<bool> split(const CausalPart& part, size_t index) {
    if (index + 1 < splits().size()) return true;
    CausalReader reader(HONE_TRY(open_rows(part.files, part.rows)), part.causal, tokenize_);
    if (index < splits().size()) {
      HONE_TRY(reader.go_to(place_));
    } else {
      splits().emplace_back().name = part.split;
      splits().back().hash = RowsHash().value();
    }
    ShardSplit& split = splits()[index];
    HONE_TRY(file_store().make_dirs(in_folder(part.split)));
    TokenRows rows;
    for (bool more = true; more;) {
      more = HONE_TRY(reader.read(rows));
      if (more && rows.tokens() < options_.max_shard_tokens) continue;
      const size_t shards = split.shards.size();
      HONE_TRY(write(split, rows));
      split.counts = reader.counts();
      HONE_TRY(save(reader.place()));
      if (split.shards.size() > shards && options_.progress &&
          options_.progress(split.name, split.tokens()) != 0) {
        out_.stopped = true;
        return false;
      }
    }
    if (split.shards.empty() && part.optional) {
      out_.notes.push_back(
          fmt::format("{}: {}; it is left out", part.split, reader.check_some(0).error().what()));
      HONE_TRY(file_store().remove_all(in_folder(part.split)));
      return true;
    }
    HONE_TRY(reader.check_some(split.rows()));
    out_.notes.push_back(fmt::format("{}: {}", part.split, describe(split.counts, part.causal)));
    HONE_TRY(write_dataset_files(in_folder(part.split), split));
    return true;
  }

  // All rows into as many shards as they need.
  Status write(ShardSplit& split, TokenRows& rows) {
    RowsHash hash(split.hash);
    for (int64_t begin = 0, end = 0; begin < rows.size(); begin = end) {
      int64_t tokens = 0;
      for (; end < rows.size() && (end == begin || tokens < options_.max_shard_tokens); ++end) {
        const auto row = rows.row(end);
        tokens += static_cast<int64_t>(row.size());
        hash.add(row);
        for (const int32_t id : row) {
          split.min_id = std::min(split.min_id, id);
          split.max_id = std::max(split.max_id, id);
        }
      }
      ShardFile shard;
      shard.file = fmt::format("data-{:05}.arrow", split.shards.size());
      const std::string bytes = shard_bytes(rows, begin, end, shard);
      HONE_TRY(file_store().write(in_folder(split.name + "/" + shard.file), bytes));
      split.shards.push_back(std::move(shard));
    }
    split.hash = hash.value();
    rows.clear();
    return Ok{};
  }

  Status save(const CausalPlace& place) {
    OrderedJson json;
    json["settings"] = out_.manifest.settings;
    json["sources"] = out_.manifest.sources;
    json["splits"] = OrderedJson::array();
    for (const ShardSplit& s : splits()) json["splits"].push_back(split_to_json(s));
    json["place"] = OrderedJson::parse(dump_json(place.to_json()));
    return file_store().write(in_folder(kShardProgress), dump_json(json) + "\n");
  }

  const std::vector<CausalPart>& parts_;
  const PrepareOptions& options_;
  const Tokenize& tokenize_;
  Prepared out_;
  CausalPlace place_;
};

}  // namespace

Result<Prepared> prepare_shards(const std::vector<CausalPart>& parts, const PrepareOptions& options,
                                const Tokenize& tokenize) {
  return Preparation(parts, options, tokenize).run();
}

Status remove_shards(const std::string& folder) {
  Store& store = file_store();
  if (!is_shard_folder(folder)) return Ok{};
  // The file that says that there are shards goes last.
  for (const char* name :
       {"train", "validation", "dataset_dict.json", kShardProgress, kShardManifest})
    HONE_TRY(store.remove_all(folder + "/" + name));
  return Ok{};
}

}  // namespace hone
