#include "learn/data/shards/megatron_files.h"

#include <algorithm>

#include "base/core/clock.h"
#include "base/store/store.h"
#include "base/store/work_items.h"
#include "learn/data/formats/megatron_index.h"
#include "learn/data/shards/errors.h"
#include "learn/data/shards/shard_names.h"

namespace hone {
namespace {

constexpr const char *kMegatronManifest = "hone_megatron.json", *kShardsInside = "shards";
constexpr const char* kMegatronFormat = "hone megatron files";

// Writes numbers through a buffer.
class NumberWriter {
 public:
  explicit NumberWriter(std::unique_ptr<Writer> to) : to_(std::move(to)) {}
  template <class T>
  Status put(T value) {
    held_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return held_.size() < kHeldBytes ? Status(Ok{}) : flush();
  }
  Status text(std::string_view text) {
    held_ += text;
    return Ok{};
  }
  Status commit() {
    HONE_TRY(flush());
    return to_->commit();
  }

 private:
  static constexpr size_t kHeldBytes = 1 << 20;
  Status flush() {
    HONE_TRY(to_->write(held_));
    held_.clear();
    return Ok{};
  }
  std::unique_ptr<Writer> to_;
  std::string held_;
};

Result<MegatronFile> write_split(const std::string& folder, const std::string& shards,
                                 const ShardSplit& split) {
  Store& store = file_store();
  MegatronIndex index;
  index.type = type_for(int64_t{split.max_id} + 1);
  std::vector<int32_t> lengths;
  NumberWriter bin(HONE_TRY(store.create(fmt::format("{}/{}.bin", folder, split.name))));
  for (const ShardFile& shard : split.shards) {
    TokenRows rows;
    rows.add(HONE_TRY(map_shard(shards + "/" + split.name, shard)).ids);
    for (int64_t i = 0; i < rows.size(); ++i) {
      lengths.push_back(static_cast<int32_t>(rows.length(i)));
      for (const int32_t id : rows.row(i))
        HONE_TRY(index.type == MegatronType::kUint16 ? bin.put(static_cast<uint16_t>(id))
                                                     : bin.put(id));
    }
    HONE_TRY(rows.check_unchanged());
  }
  HONE_TRY(bin.commit());
  index.sequences = static_cast<int64_t>(lengths.size());
  index.documents = index.sequences + 1;
  NumberWriter idx(HONE_TRY(store.create(fmt::format("{}/{}.idx", folder, split.name))));
  HONE_TRY(idx.text(megatron_header(index)));
  for (const int32_t length : lengths) HONE_TRY(idx.put(length));
  int64_t place = 0;
  for (const int32_t length : lengths) {
    HONE_TRY(idx.put(place));
    place += length * bytes_of(index.type);
  }
  for (int64_t row = 0; row <= index.sequences; ++row) HONE_TRY(idx.put(row));
  HONE_TRY(idx.commit());
  return MegatronFile{split.name,          index.sequences, place / bytes_of(index.type),
                      name_of(index.type), place,           index.bytes()};
}

Result<std::vector<MegatronFile>> read_megatron_manifest(const std::string& folder,
                                                         OrderedJson& json) {
  const std::string name = folder + "/" + kMegatronManifest;
  json = HONE_TRY(parse_ordered_json(HONE_TRY(file_store().read(name)), name));
  std::vector<MegatronFile> files;
  try {
    if (json.at("format") != kMegatronFormat || !json.at("settings").is_object())
      throw std::invalid_argument("it has another format");
    for (const OrderedJson& f : json.at("splits"))
      files.push_back({f.at("name"), f.at("rows"), f.at("tokens"), f.at("type"),
                       f.at("files").at(0).at("bytes"), f.at("files").at(1).at("bytes")});
    json.at("sources");
    return files;
  } catch (const std::exception& e) {
    return Error(err::kShards, fmt::format("'{}' cannot be read: {}", name, e.what()))
        .todo("make the files again: hone prepare with `overwrite_output_dir`");
  }
}

// Whether `name` is a file that prepare_megatron writes.
bool is_own(std::string_view name) {
  return name == kShardsInside || std::ranges::any_of(kSplits, [&](std::string_view split) {
           return name.starts_with(split) &&
                  (name.substr(split.size()) == ".bin" || name.substr(split.size()) == ".idx");
         });
}

}  // namespace

bool has_megatron(const std::string& folder) {
  return path_exists(folder + "/" + kMegatronManifest);
}

namespace {

class MegatronPreparation {
 public:
  MegatronPreparation(const PrepareOptions& options, const OrderedJson& sources)
      : options_(options), sources_(sources), inside_(options) {
    inside_.folder = in_folder(kShardsInside);
  }

  Result<MegatronFiles> run(const std::function<Result<Prepared>(const PrepareOptions&)>& make) {
    if (HONE_TRY(take_finished())) {
      out_.prepared.was_there = true;
      return std::move(out_);
    }
    Store& store = file_store();
    if (HONE_TRY(store.exists(options_.folder)))
      for (const Store::Entry& e : HONE_TRY(store.list(options_.folder)))
        if (!e.name.starts_with('.') && !is_own(e.name) && e.name != kMegatronManifest)
          return other_files(options_.folder);
    Status written = prepare_and_convert(make);
    // Another process may have written the files, and deleted the shards, in the meantime.
    if (HONE_TRY(take_finished())) {
      out_.prepared.stopped = false;
      return std::move(out_);
    }
    HONE_TRY(std::move(written));
    return std::move(out_);
  }

 private:
  std::string in_folder(const std::string& name) const { return options_.folder + "/" + name; }

  Result<bool> take_finished() {
    if (!has_megatron(options_.folder)) return false;
    OrderedJson made;
    out_.files = HONE_TRY(read_megatron_manifest(options_.folder, made));
    const std::string what = fmt::format("the files in '{}'", options_.folder);
    HONE_TRY(check_same_settings(made["settings"], options_.settings, what));
    HONE_TRY(check_same_sources(made["sources"], sources_, what));
    for (const MegatronFile& f : out_.files) {
      HONE_TRY(check_size(f.split + ".bin", f.bin_bytes));
      HONE_TRY(check_size(f.split + ".idx", f.idx_bytes));
    }
    HONE_TRY(file_store().remove_all(inside_.folder));
    (void)file_store().remove_unfinished(options_.folder);  // files of killed workers
    return true;
  }

  Status check_size(const std::string& file, int64_t bytes) const {
    const std::string path = in_folder(file);
    const int64_t now = path_exists(path) ? HONE_TRY(file_store().bytes(path)) : 0;
    if (now == bytes) return Ok{};
    return Error(err::kShards, fmt::format("'{}' has {} bytes, {} were written", path, now, bytes))
        .todo("make the files again: hone prepare with `overwrite_output_dir`");
  }

  Status prepare_and_convert(const std::function<Result<Prepared>(const PrepareOptions&)>& make) {
    out_.prepared = HONE_TRY(make(inside_));
    return out_.prepared.stopped ? Status(Ok{}) : convert();
  }

  Status convert() {
    const std::string folder = inside_.folder + "/convert";
    HONE_TRY(file_store().make_dirs(folder));
    WorkItems turn(folder, 1);
    while (!HONE_TRY(turn.take())) {
      if (has_megatron(options_.folder)) return Ok{};
      system_clock().sleep(0.5);
    }
    const ShardManifest& shards = out_.prepared.manifest;
    OrderedJson json;
    json["format"] = kMegatronFormat;
    json["settings"] = options_.settings;
    json["sources"] = sources_;
    json["splits"] = OrderedJson::array();
    for (const ShardSplit& split : shards.splits) {
      const MegatronFile f = HONE_TRY(write_split(options_.folder, inside_.folder, split));
      json["splits"].push_back({{"name", f.split},
                                {"rows", f.rows},
                                {"tokens", f.tokens},
                                {"type", f.type},
                                {"files",
                                 {{{"file", f.split + ".bin"}, {"bytes", f.bin_bytes}},
                                  {{"file", f.split + ".idx"}, {"bytes", f.idx_bytes}}}}});
    }
    return file_store().write(in_folder(kMegatronManifest), dump_json(json, {.indent = 2}) + "\n");
  }

  const PrepareOptions& options_;
  const OrderedJson& sources_;
  PrepareOptions inside_;
  MegatronFiles out_;
};

}  // namespace

Result<MegatronFiles> prepare_megatron(
    const PrepareOptions& options, const OrderedJson& sources,
    const std::function<Result<Prepared>(const PrepareOptions&)>& make) {
  return MegatronPreparation(options, sources).run(make);
}

Status remove_megatron(const std::string& folder) {
  Store& store = file_store();
  const std::string manifest = folder + "/" + kMegatronManifest;
  if (!HONE_TRY(store.exists(manifest)) && !is_shard_folder(folder + "/" + kShardsInside))
    return Ok{};
  // The files that show whose folder this is go last.
  for (const std::string split : kSplits)
    for (const char* end : {".bin", ".idx"}) HONE_TRY(store.remove_all(folder + "/" + split + end));
  HONE_TRY(store.remove_all(folder + "/" + kShardsInside));
  return store.remove_all(manifest);
}

}  // namespace hone
