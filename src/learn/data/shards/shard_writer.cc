#include "learn/data/shards/shard_writer.h"

#include <algorithm>

#include "base/store/store.h"
#include "learn/data/shards/shard_names.h"

namespace hone {
namespace {

// A column as datasets describes it.
OrderedJson feature(const ShardColumn& column, const ShardSplit& split) {
  if (column.kind == ShardColumn::Kind::kList)
    return {{"feature", {{"dtype", "int32"}, {"_type", "Value"}}}, {"_type", "Sequence"}};
  if (column.kind == ShardColumn::Kind::kFloat) return {{"dtype", "float32"}, {"_type", "Value"}};
  return {{"names", split.about["names"]}, {"_type", "ClassLabel"}};
}

}  // namespace

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
  std::vector<ShardColumn> columns = split.shards[0].beside;
  columns.insert(columns.begin(), ShardColumn{"input_ids"});
  for (const ShardColumn& c : columns) info["features"][c.name] = feature(c, split);
  HONE_TRY(file_store().write(folder + "/state.json", dump_json(state, {.indent = 2}) + "\n"));
  return file_store().write(folder + "/dataset_info.json", dump_json(info, {.indent = 2}) + "\n");
}

Status write_shards(const std::string& folder, const std::string& stem, const TokenRows& rows,
                    std::span<const RowColumn> beside, int64_t max_tokens, ShardSplit& split) {
  RowsHash hash(split.hash);
  for (int64_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    int64_t tokens = 0;
    for (; end < rows.size() && (end == begin || tokens < max_tokens); ++end) {
      const auto row = rows.row(end);
      tokens += static_cast<int64_t>(row.size());
      for (const RowColumn& column : beside)
        if (const auto* lists = std::get_if<TokenRows>(&column.rows)) tokens += lists->length(end);
      hash.add(row);
      for (const int32_t id : row) {
        split.min_id = std::min(split.min_id, id);
        split.max_id = std::max(split.max_id, id);
      }
    }
    ShardFile shard;
    shard.file = fmt::format("{}-{:05}.arrow", stem, split.shards.size());
    const std::string bytes = shard_bytes(rows, beside, begin, end, shard);
    HONE_TRY(file_store().write(folder + "/" + shard.file, bytes));
    split.shards.push_back(std::move(shard));
  }
  split.hash = hash.value();
  return Ok{};
}

Status write_shard_manifest(const std::string& folder, ShardManifest& manifest) {
  std::erase_if(manifest.splits, [](const ShardSplit& s) { return s.shards.empty(); });
  OrderedJson dict;
  for (const ShardSplit& s : manifest.splits) dict["splits"].push_back(s.name);
  HONE_TRY(file_store().write(folder + "/dataset_dict.json", dump_json(dict)));
  return file_store().write(folder + "/" + kShardManifest, manifest.to_json());
}

}  // namespace hone
