// hone prepare: writes token shards and their manifest, and continues a run that was killed.
#include <algorithm>
#include <filesystem>

#include "base/store/hash.h"
#include "base/store/store.h"
#include "learn/data/formats/megatron_index.h"
#include "learn/data/rows/files.h"
#include "learn/data/shards/errors.h"
#include "learn/data/shards/shard_names.h"
#include "learn/data/shards/shard_writer.h"
#include "learn/data/shards/shards.h"

namespace hone {
namespace {

// The folder while shards are made in it.
class ShardFolder {
 public:
  explicit ShardFolder(const PrepareOptions& options) : options_(options) {}

  std::string in_folder(const std::string& name) const { return options_.folder + "/" + name; }
  std::vector<ShardSplit>& splits() { return out.manifest.splits; }

  // True when all is done already; else the folder is there, with the progress of a run that was
  // killed (null: there was none).
  Result<bool> begin(const std::vector<PreparedFiles>& files, OrderedJson& killed) {
    out.manifest.settings = options_.settings;
    out.manifest.sources = HONE_TRY(source_records(files));
    Store& store = file_store();
    const std::string progress = in_folder(kShardProgress);
    if (HONE_TRY(store.exists(progress))) {
      killed = HONE_TRY(parse_ordered_json(HONE_TRY(store.read(progress)), progress));
      const auto has = [&](const char* key) { return killed.is_object() && killed.contains(key); };
      if (has("items"))
        return Error(err::kShardsDiffer,
                     fmt::format("several processes make the shards '{}'", options_.folder))
            .todo("give the same `workers` and settings as they, or another `output_dir`");
      if (!has("settings") || !has("sources") || !has("splits") || !has("place"))
        return Error(err::kShards, "the progress of the shards cannot be read").at(progress);
      HONE_TRY(same(killed["settings"], killed["sources"]));
      return false;
    }
    if (is_shard_folder(options_.folder)) {
      ShardManifest made = HONE_TRY(read_shard_manifest(options_.folder));
      HONE_TRY(same(made.settings, made.sources));
      out.manifest = std::move(made);
      out.was_there = true;
      return true;
    }
    std::vector<Store::Entry> others;
    if (HONE_TRY(store.exists(options_.folder))) others = HONE_TRY(store.list(options_.folder));
    std::erase_if(others, [](const Store::Entry& e) { return e.name.starts_with('.'); });
    if (!others.empty()) return other_files(options_.folder);
    HONE_TRY(store.make_dirs(options_.folder));
    HONE_TRY(save({}));  // the folder is known for what it is from the start
    return false;
  }

  Status save(const TextPosition& place) {
    OrderedJson json;
    json["settings"] = out.manifest.settings;
    json["sources"] = out.manifest.sources;
    json["splits"] = OrderedJson::array();
    for (const ShardSplit& s : splits()) json["splits"].push_back(split_to_json(s));
    json["place"] = HONE_TRY(parse_ordered_json(dump_json(place.to_json()), "place"));
    return file_store().write(in_folder(kShardProgress), dump_json(json) + "\n");
  }

  Status finish() {
    HONE_TRY(write_shard_manifest(options_.folder, out.manifest));
    return file_store().remove(in_folder(kShardProgress));
  }

  Prepared out;

 private:
  Status same(const OrderedJson& settings, const OrderedJson& sources) const {
    const std::string what = fmt::format("the shards '{}'", options_.folder);
    HONE_TRY(check_same_settings(settings, out.manifest.settings, what));
    return check_same_sources(sources, out.manifest.sources, what);
  }

  const PrepareOptions& options_;
};

// Adds what a task noted of more rows: counts, and whether all of them have something.
Status add_about(const OrderedJson& more, const std::string& folder, OrderedJson& about) {
  if (more.contains("names") || more.contains("regression"))
    return Error(err::kShards, "shards of rows with labels cannot be put together").at(folder);
  if (about.is_null()) {
    about = more;
    return Ok{};
  }
  for (const auto& [key, value] : more.items()) {
    OrderedJson& sum = about[key];
    if (value.is_number_integer() && sum.is_number_integer())
      sum = sum.get<int64_t>() + value.get<int64_t>();
    if (value.is_boolean() && sum.is_boolean()) sum = sum.get<bool>() && value.get<bool>();
  }
  return Ok{};
}

class Preparation {
 public:
  Preparation(const std::vector<TextPart>& parts, const PrepareOptions& options,
              const Tokenize& tokenize)
      : parts_(parts), options_(options), tokenize_(tokenize), folder_(options) {}

  Result<Prepared> run() {
    if (HONE_TRY(find_start())) return std::move(folder_.out);
    for (size_t k = 0; k < parts_.size(); ++k) {
      if (!HONE_TRY(split(parts_[k], k))) return std::move(folder_.out);
    }
    HONE_TRY(folder_.finish());
    return std::move(folder_.out);
  }

 private:
  std::vector<ShardSplit>& splits() { return folder_.splits(); }
  void note(std::string text) { folder_.out.notes.push_back(std::move(text)); }

  // True when all is done already. Continues from the progress of a run that was killed.
  Result<bool> find_start() {
    std::vector<PreparedFiles> files;
    for (const TextPart& part : parts_) files.push_back({part.split, part.files});
    OrderedJson killed;
    if (HONE_TRY(folder_.begin(files, killed))) return true;
    if (killed.is_null()) return false;
    const std::string name = folder_.in_folder(kShardProgress);
    for (const OrderedJson& s : killed["splits"])
      splits().push_back(HONE_TRY(split_from_json(s, name)));
    const Json place = HONE_TRY(parse_json(dump_json(killed["place"]), name));
    place_ = HONE_TRY(position_from_json(place, name));
    if (!splits().empty())
      note(fmt::format("continuing after {} finished shards of the split '{}'",
                       splits().back().shards.size(), splits().back().name));
    return false;
  }

  // False when the work was stopped.
  Result<bool> split(const TextPart& part, size_t index) {
    if (index + 1 < splits().size()) return true;
    TextReader reader(HONE_TRY(open_rows(part.files, part.rows)), part.options, tokenize_);
    if (index < splits().size()) {
      HONE_TRY(reader.seek(place_));
    } else {
      splits().emplace_back().name = part.split;
      splits().back().hash = RowsHash().value();
    }
    ShardSplit& split = splits()[index];
    const std::string at = folder_.in_folder(part.split);
    HONE_TRY(file_store().make_dirs(at));
    TokenRows rows;
    for (bool more = true; more;) {
      more = HONE_TRY(reader.read(rows));
      if (more && rows.tokens() < options_.max_shard_tokens) continue;
      const size_t shards = split.shards.size();
      HONE_TRY(write_shards(at, "data", rows, {}, options_.max_shard_tokens, split));
      rows.clear();
      split.counts = reader.counts();
      HONE_TRY(folder_.save(reader.place()));
      if (split.shards.size() > shards && options_.progress &&
          options_.progress(split.name, split.tokens()) != 0) {
        folder_.out.stopped = true;
        return false;
      }
    }
    if (split.shards.empty() && part.optional) {
      note(fmt::format("{}: {}; it is left out", part.split, reader.check_some(0).error().what()));
      HONE_TRY(file_store().remove_all(at));
      return true;
    }
    HONE_TRY(reader.check_some(split.rows()));
    note(fmt::format("{}: {}", part.split, describe(split.counts, part.options)));
    HONE_TRY(write_dataset_files(at, split));
    return true;
  }

  const std::vector<TextPart>& parts_;
  const PrepareOptions& options_;
  const Tokenize& tokenize_;
  ShardFolder folder_;
  TextPosition place_;
};

}  // namespace

Result<OrderedJson> source_records(const std::vector<PreparedFiles>& splits) {
  OrderedJson sources = OrderedJson::array();
  for (const auto& [split, files] : splits)
    for (const std::string& file : files_with_ids(files)) {
      const auto bytes = HONE_TRY(file_store().bytes(file));
      std::string sha256 = HONE_TRY(sha256_of_file(file_store(), file));
      sources.push_back(
          {{"split", split}, {"file", file}, {"bytes", bytes}, {"sha256", std::move(sha256)}});
    }
  return sources;
}

Status check_same_sources(const OrderedJson& made, const OrderedJson& wanted,
                          const std::string& what) {
  if (made == wanted) return Ok{};
  return Error(err::kShardsDiffer, fmt::format("{} were made of other files", what))
      .todo("give another `output_dir`, or `overwrite_output_dir` to make them again");
}

Error other_files(const std::string& folder) {
  return Error(err::kShards, fmt::format("the folder '{}' holds other files", folder))
      .todo("give another `output_dir`");
}

Result<Prepared> prepare_shards(const std::vector<TextPart>& parts, const PrepareOptions& options,
                                const Tokenize& tokenize) {
  return Preparation(parts, options, tokenize).run();
}

Result<Prepared> prepare_rows(const std::vector<PreparedFiles>& files,
                              const PrepareOptions& options,
                              const std::function<Result<std::vector<RowSplit>>()>& read) {
  ShardFolder folder(options);
  OrderedJson killed;
  if (HONE_TRY(folder.begin(files, killed))) return std::move(folder.out);
  if (!killed.is_null()) folder.out.notes.emplace_back("a run that was killed starts again");
  for (const char* split : kSplits) HONE_TRY(file_store().remove_all(folder.in_folder(split)));
  for (RowSplit& rows : HONE_TRY(read())) {
    ShardSplit& split = folder.splits().emplace_back();
    split.name = rows.name;
    split.about = std::move(rows.about);
    split.hash = RowsHash().value();
    const std::string at = folder.in_folder(split.name);
    HONE_TRY(file_store().make_dirs(at));
    HONE_TRY(write_shards(at, "data", rows.rows, rows.beside, options.max_shard_tokens, split));
    if (split.shards.empty()) continue;
    HONE_TRY(write_dataset_files(at, split));
    if (options.progress && options.progress(split.name, split.tokens()) != 0) {
      folder.out.stopped = true;
      return std::move(folder.out);
    }
  }
  HONE_TRY(folder.finish());
  return std::move(folder.out);
}

Result<Prepared> merge_shards(const std::vector<PreparedFiles>& files,
                              const std::vector<PreparedPart>& parts,
                              const PrepareOptions& options) {
  ShardFolder folder(options);
  OrderedJson killed;
  if (HONE_TRY(folder.begin(files, killed))) return std::move(folder.out);
  for (const char* split : kSplits) HONE_TRY(file_store().remove_all(folder.in_folder(split)));
  for (const PreparedFiles& wanted : files) {
    ShardSplit& split = folder.splits().emplace_back();
    split.name = wanted.split;
    split.hash = RowsHash().value();
    const std::string at = folder.in_folder(split.name);
    HONE_TRY(file_store().make_dirs(at));
    for (const PreparedPart& part : parts) {
      if (part.split != split.name) continue;
      const ShardManifest manifest = HONE_TRY(read_shard_manifest(part.folder));
      const ShardSplit from = HONE_TRY(find_split(manifest, part.split, part.folder));
      HONE_TRY(add_about(from.about, part.folder, split.about));
      split.min_id = std::min(split.min_id, from.min_id);
      split.max_id = std::max(split.max_id, from.max_id);
      for (ShardFile shard : from.shards) {
        const std::string source = part.folder + "/" + part.split;
        const MappedShard mapped = HONE_TRY(map_shard(source, shard));
        TokenRows rows;
        rows.add(mapped.ids);
        RowsHash hash(split.hash);
        for (int64_t i = 0; i < rows.size(); ++i) hash.add(rows.row(i));
        split.hash = hash.value();
        const std::string name = fmt::format("data-{:05}.arrow", split.shards.size());
        std::error_code failed;
        std::filesystem::create_hard_link(source + "/" + shard.file, at + "/" + name, failed);
        if (failed) HONE_TRY(file_store().copy(source + "/" + shard.file, at + "/" + name));
        shard.file = name;
        split.shards.push_back(std::move(shard));
      }
    }
    if (!split.shards.empty()) HONE_TRY(write_dataset_files(at, split));
  }
  HONE_TRY(folder.finish());
  return std::move(folder.out);
}

Status remove_shards(const std::string& folder) {
  Store& store = file_store();
  if (!is_shard_folder(folder)) return Ok{};
  // The file that says that there are shards goes last.
  for (const char* split : kSplits) HONE_TRY(store.remove_all(folder + "/" + split));
  for (const char* name : {kShardWork, "dataset_dict.json", kShardProgress, kShardManifest})
    HONE_TRY(store.remove_all(folder + "/" + name));
  return Ok{};
}

}  // namespace hone
