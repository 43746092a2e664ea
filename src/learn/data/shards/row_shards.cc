#include "learn/data/shards/row_shards.h"

#include <algorithm>
#include <functional>

#include "learn/data/shards/errors.h"

namespace hone {
namespace {

constexpr const char *kTypes = "token_type_ids", *kLabel = "label", *kTargets = "labels";

// The column of a shard; null if it is missing or has another type.
template <class T>
const T* column_of(const ShardFile& shard, const MappedShard& mapped, const char* name) {
  for (size_t i = 0; i < shard.beside.size(); ++i)
    if (shard.beside[i].name == name) return std::get_if<T>(&mapped.beside[i]);
  return nullptr;
}

std::vector<std::string> names_of(const OrderedJson& about) {
  std::vector<std::string> names;
  if (const auto at = about.find("names"); at != about.end() && at->is_array())
    for (const OrderedJson& name : *at)
      if (name.is_string()) names.push_back(name);
  return names;
}

// Labels by number of a class, as they would be read from a file.
Status see_classes(const std::vector<std::string>& names, const std::string& where,
                   SeenLabels& seen) {
  Row row;
  row.file = where;
  row.cells.resize(1);
  for (const std::string& name : names) {
    row.cells[0] = name;
    HONE_TRY(seen.add(row, 0, kLabel));
  }
  return Ok{};
}

OrderedJson about(const LabelCounts& counts) {
  return {{"rows_read", counts.rows_read},
          {"rows_cut", counts.rows_cut},
          {"rows_unlabelled", counts.rows_unlabelled},
          {"rows_broken", counts.rows_broken}};
}

LabelCounts counts_of(const OrderedJson& about) {
  LabelCounts counts;
  counts.rows_read = whole_at(about, "rows_read");
  counts.rows_cut = whole_at(about, "rows_cut");
  counts.rows_broken = whole_at(about, "rows_broken");
  return counts;
}

// Rows with a tag for each token: kIgnoreLabel, or one that is `allowed` beside the id.
Result<LabelledRows> read_tags(const ShardSplit& from, const std::string& folder,
                               const std::function<bool(int32_t tag, int32_t id)>& allowed) {
  LabelledRows out;
  for (const ShardFile& shard : from.shards) {
    const MappedShard mapped = HONE_TRY(map_shard(folder + "/" + from.name, shard));
    const auto* lists = column_of<RowsView>(shard, mapped, kTargets);
    if (!lists) return other_rows(folder, from.name, "has no labels");
    TokenRows ids, tags;
    ids.add(mapped.ids);
    tags.add(*lists);
    for (int64_t i = 0; i < ids.size(); ++i) {
      const auto row = ids.row(i), labels = tags.row(i);
      if (labels.size() != row.size())
        return other_rows(folder, from.name, "has labels and ids of different lengths");
      out.rows.add(row);
      for (size_t t = 0; t < row.size(); ++t) {
        if (labels[t] != kIgnoreLabel && !allowed(labels[t], row[t]))
          return other_rows(folder, from.name, fmt::format("has a label {}", labels[t]));
        out.labels.tags.push_back(labels[t]);
      }
    }
    HONE_TRY(mapped.ids.file->check_unchanged());
  }
  if (out.size() == 0) return other_rows(folder, from.name, "is empty");
  return out;
}

}  // namespace

Error other_rows(const std::string& folder, const std::string& split, const std::string& what) {
  return Error(err::kShards, fmt::format("the split '{}' {}", split, what))
      .at(folder)
      .todo("make the shards again: hone prepare with `overwrite_output_dir`");
}

RowSplit labelled_split(const std::string& name, LabelledRows rows, const LabelCounts& counts,
                        const LabelMap* map) {
  RowSplit split{name, {}, {}, OrderedJson::object()};
  if (!rows.labels.types.empty()) {
    TokenRows types;
    std::vector<int32_t> row;
    for (int64_t i = 0; i < rows.size(); ++i) {
      const auto some = rows.labels.types_of(rows.rows, i);
      row.assign(some.begin(), some.end());
      types.add(row);
    }
    split.beside.push_back({kTypes, std::move(types)});
  }
  split.about = about(counts);
  if (map && map->regression) {
    split.about["regression"] = true;
    split.beside.push_back({kLabel, std::move(rows.labels.values)});
  } else if (map) {
    split.about["names"] = map->names;
    const std::vector<int32_t>& classes = rows.labels.classes;
    split.beside.push_back({kLabel, std::vector<int64_t>(classes.begin(), classes.end())});
  }
  split.rows = std::move(rows.rows);
  return split;
}

RowSplit tagged_split(const std::string& name, LabelledRows rows, const LabelCounts& counts,
                      const LabelMap* map) {
  RowSplit split = instruction_split(name, std::move(rows), about(counts));
  if (map) split.about["names"] = map->names;
  return split;
}

RowSplit instruction_split(const std::string& name, LabelledRows rows, const OrderedJson& about) {
  RowSplit split{name, {}, {}, about};
  TokenRows tags;
  for (int64_t i = 0; i < rows.size(); ++i) tags.add(rows.labels.tags_of(rows.rows, i));
  split.beside.push_back({kTargets, std::move(tags)});
  split.rows = std::move(rows.rows);
  return split;
}

RowSplit pair_split(const std::string& name, PairRows rows) {
  RowSplit split{name, std::move(rows.sources), {}, OrderedJson::object()};
  const PairCounts& c = rows.counts;
  split.about = {{"rows_read", c.rows_read},          {"sources_cut", c.sources_cut},
                 {"targets_cut", c.targets_cut},      {"rows_empty", c.rows_empty},
                 {"first_source", rows.first_source}, {"has_targets", rows.has_targets}};
  split.beside.push_back({kTargets, std::move(rows.targets)});
  return split;
}

Result<LabelledShards> open_labelled_shards(const std::string& folder,
                                            const ShardManifest& manifest,
                                            const std::string& split) {
  const ShardSplit from = HONE_TRY(find_split(manifest, split, folder));
  LabelledShards out;
  out.names = names_of(from.about);
  out.regression = from.about.contains("regression");
  LabelledText& text = out.text;
  text.counts = counts_of(from.about);
  HONE_TRY(see_classes(out.names, folder, text.seen));
  Row row;  // of a value
  row.file = folder;
  row.cells.resize(1);
  TokenRows& rows = text.data.rows;
  std::vector<uint8_t>& types = text.data.labels.types;
  for (const ShardFile& shard : from.shards) {
    const MappedShard mapped = HONE_TRY(map_shard(folder + "/" + split, shard));
    TokenRows ids, token_types;
    ids.add(mapped.ids);
    const auto* type_lists = column_of<RowsView>(shard, mapped, kTypes);
    if (type_lists) token_types.add(*type_lists);
    for (int64_t i = 0; i < ids.size(); ++i) {
      rows.add(ids.row(i));
      if (!type_lists) continue;
      if (token_types.length(i) != ids.length(i))
        return other_rows(folder, split, fmt::format("has other {} than ids", kTypes));
      for (const int32_t type : token_types.row(i)) {
        if (type < 0 || type > UINT8_MAX)
          return other_rows(folder, split, fmt::format("has a token of type {}", type));
        types.push_back(static_cast<uint8_t>(type));
      }
    }
    if (out.regression) {
      const auto* values = column_of<std::span<const float>>(shard, mapped, kLabel);
      if (!values) return other_rows(folder, split, "has no labels");
      for (const float value : *values) {
        row.cells[0] = static_cast<double>(value);
        text.label.push_back(HONE_TRY(text.seen.add(row, 0, kLabel)));
      }
    } else if (!out.names.empty()) {
      const auto* classes = column_of<std::span<const int64_t>>(shard, mapped, kLabel);
      if (!classes) return other_rows(folder, split, "has no labels");
      for (const int64_t label : *classes) {
        if (label < 0 || label >= static_cast<int64_t>(text.seen.all().size()))
          return other_rows(folder, split, fmt::format("has a label {}", label));
        text.label.push_back(static_cast<int32_t>(label));
      }
    }
    HONE_TRY(mapped.ids.file->check_unchanged());
  }
  if (!types.empty() && static_cast<int64_t>(types.size()) != rows.tokens())
    return other_rows(folder, split, fmt::format("has {} in some shards alone", kTypes));
  text.counts.tokens = rows.tokens();
  if (rows.size() == 0) return other_rows(folder, split, "is empty");
  return out;
}

Result<TaggedText> open_tagged_shards(const std::string& folder, const ShardManifest& manifest,
                                      const std::string& split) {
  const ShardSplit from = HONE_TRY(find_split(manifest, split, folder));
  TaggedText out;
  out.names = names_of(from.about);
  out.tagged = !out.names.empty();
  out.counts = counts_of(from.about);
  HONE_TRY(see_classes(out.names, folder, out.seen));
  const int64_t classes = std::max<int64_t>(1, static_cast<int64_t>(out.names.size()));
  out.data = HONE_TRY(
      read_tags(from, folder, [&](int32_t tag, int32_t) { return tag >= 0 && tag < classes; }));
  out.inside.resize(out.data.labels.tags.size());
  out.counts.tokens = out.data.rows.tokens();
  return out;
}

Result<InstructionShards> open_instruction_shards(const std::string& folder,
                                                  const ShardManifest& manifest,
                                                  const std::string& split) {
  const ShardSplit from = HONE_TRY(find_split(manifest, split, folder));
  LabelledRows rows =
      HONE_TRY(read_tags(from, folder, [](int32_t tag, int32_t id) { return tag == id; }));
  return InstructionShards{std::move(rows), from.about};
}

Result<ListShards> open_list_shards(const std::string& folder, const ShardManifest& manifest,
                                    const std::string& split,
                                    const std::vector<std::string>& columns) {
  const ShardSplit from = HONE_TRY(find_split(manifest, split, folder));
  ListShards out;
  out.lists.resize(columns.size());
  out.about = from.about;
  const auto copy = [](const RowsView& view, TokenRows& to) {
    TokenRows rows;
    rows.add(view);
    for (int64_t i = 0; i < rows.size(); ++i) to.add(rows.row(i));
  };
  for (const ShardFile& shard : from.shards) {
    const MappedShard mapped = HONE_TRY(map_shard(folder + "/" + split, shard));
    copy(mapped.ids, out.ids);
    for (size_t c = 0; c < columns.size(); ++c) {
      const auto* lists = column_of<RowsView>(shard, mapped, columns[c].c_str());
      if (!lists) return other_rows(folder, split, fmt::format("has no {}", columns[c]));
      copy(*lists, out.lists[c]);
    }
    HONE_TRY(mapped.ids.file->check_unchanged());
  }
  if (out.ids.size() == 0) return other_rows(folder, split, "is empty");
  return out;
}

Result<PairRows> open_pair_shards(const std::string& folder, const ShardManifest& manifest,
                                  const std::string& split, bool mapped) {
  const ShardSplit from = HONE_TRY(find_split(manifest, split, folder));
  PairRows out;
  out.counts = {whole_at(from.about, "rows_read"), whole_at(from.about, "sources_cut"),
                whole_at(from.about, "targets_cut"), whole_at(from.about, "rows_empty")};
  if (const auto at = from.about.find("first_source"); at != from.about.end() && at->is_string())
    out.first_source = *at;
  if (const auto at = from.about.find("has_targets"); at != from.about.end() && at->is_boolean())
    out.has_targets = *at;
  TokenRows sources, targets;
  for (const ShardFile& shard : from.shards) {
    const MappedShard map = HONE_TRY(map_shard(folder + "/" + split, shard));
    const auto* lists = column_of<RowsView>(shard, map, kTargets);
    if (!lists) return other_rows(folder, split, "has no targets");
    sources.add(map.ids);
    targets.add(*lists);
  }
  if (sources.size() == 0) return other_rows(folder, split, "is empty");
  if (mapped) {
    sources.set_hash(from.hash);
    out.sources = std::move(sources);
    out.targets = std::move(targets);
    return out;
  }
  for (int64_t i = 0; i < sources.size(); ++i) {
    out.sources.add(sources.row(i));
    out.targets.add(targets.row(i));
  }
  HONE_TRY(sources.check_unchanged());
  return out;
}

}  // namespace hone
