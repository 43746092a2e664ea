#include "learn/tasks/text_shards.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "learn/data/rows/count_text.h"

namespace hone {
namespace {

constexpr const char *kSequenceLengths = "lengths", *kSequenceTypes = "types",
                     *kColumnCounts = "counts", *kTextNumbers = "texts", *kLabelBits = "label_bits";

OrderedJson about_table(const TableOfTexts& table, int64_t cut) {
  std::vector<bool> lists;
  for (size_t c = 0; c < table.columns.size(); ++c) lists.push_back(table.has_lists(c));
  return {{"columns", table.columns},
          {"lists", lists},
          {"label_column", table.label_column},
          {"labels_of_row", table.labels_of_row},
          {"note", table.note},
          {"texts_cut", cut}};
}

// The columns beside the ids, while they are read.
struct TextLists {
  TokenRows lengths, types, counts, texts, labels;
};

void add_cells(const TableOfTexts& table, size_t row,
               std::unordered_map<std::string_view, int32_t>& numbers, TextLists& to) {
  std::vector<int32_t> counts, texts, labels;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const auto cells = table.texts_of(c, row);
    counts.push_back(static_cast<int32_t>(cells.size()));
    for (const std::string& text : cells)
      texts.push_back(
          numbers.try_emplace(text, static_cast<int32_t>(numbers.size())).first->second);
  }
  const auto each = static_cast<size_t>(table.labels_of_row);
  for (size_t k = 0; k < each; ++k)
    labels.push_back(std::bit_cast<int32_t>(table.labels[row * each + k]));
  to.counts.add(counts);
  to.texts.add(texts);
  to.labels.add(labels);
}

Result<TableOfTexts> columns_of_shards(const std::string& folder, const ShardSplit& split) {
  TableOfTexts out;
  const OrderedJson& about = split.about;
  const auto texts = [&](const char* key) {
    std::vector<std::string> list;
    if (about.is_object() && about.contains(key) && about[key].is_array())
      for (const OrderedJson& one : about[key])
        if (one.is_string()) list.push_back(one);
    return list;
  };
  out.columns = texts("columns");
  out.labels_of_row = whole_at(about, "labels_of_row");
  const bool has_lists = about.is_object() && about.contains("lists") &&
                         about["lists"].is_array() && about["lists"].size() == out.columns.size();
  if (out.columns.empty() || out.labels_of_row < 0 || !has_lists)
    return other_rows(folder, split.name, "names no columns of texts");
  if (about.contains("label_column") && about["label_column"].is_string())
    out.label_column = about["label_column"];
  if (about.contains("note") && about["note"].is_string()) out.note = about["note"];
  out.texts.resize(out.columns.size());
  out.lists.resize(out.columns.size());
  return out;
}

std::vector<bool> lists_of_shards(const ShardSplit& split) {
  std::vector<bool> lists;
  for (const OrderedJson& one : split.about["lists"])
    lists.push_back(one.is_boolean() && one.get<bool>());
  return lists;
}

struct TextRowLists {
  std::span<const int32_t> ids, lengths, types, counts, texts, labels;
};

bool fits_table(const TextRowLists& row, const TableOfTexts& table,
                const std::vector<bool>& lists) {
  const auto positive = [](int32_t n) { return n > 0; };
  const auto not_negative = [](int32_t n) { return n >= 0; };
  if (row.counts.size() != table.columns.size() ||
      !std::all_of(row.counts.begin(), row.counts.end(), not_negative))
    return false;
  for (size_t c = 0; c < lists.size(); ++c)
    if (!lists[c] && row.counts[c] != 1) return false;
  return !row.lengths.empty() && std::all_of(row.lengths.begin(), row.lengths.end(), positive) &&
         std::accumulate(row.lengths.begin(), row.lengths.end(), int64_t{0}) ==
             std::ssize(row.ids) &&
         (row.types.empty() || row.types.size() == row.ids.size()) &&
         std::all_of(row.types.begin(), row.types.end(),
                     [](int32_t t) { return t >= 0 && t <= UINT8_MAX; }) &&
         std::all_of(row.texts.begin(), row.texts.end(), not_negative) &&
         std::accumulate(row.counts.begin(), row.counts.end(), int64_t{0}) ==
             std::ssize(row.texts) &&
         std::ssize(row.labels) == table.labels_of_row;
}

void take_shard_row(const TextRowLists& row, const std::vector<bool>& lists, TableOfTexts& out) {
  size_t at = 0;
  for (size_t c = 0; c < lists.size(); ++c) {
    std::vector<std::string> cells;
    for (int32_t k = 0; k < row.counts[c]; ++k) cells.push_back(std::to_string(row.texts[at++]));
    if (lists[c])
      out.lists[c].push_back(std::move(cells));
    else
      out.texts[c].push_back(std::move(cells[0]));
  }
  for (const int32_t bits : row.labels) out.labels.push_back(std::bit_cast<float>(bits));
  out.tokens.push_back({{row.ids.begin(), row.ids.end()},
                        {row.lengths.begin(), row.lengths.end()},
                        {row.types.begin(), row.types.end()}});
}

}  // namespace

RowSplit text_shards_of(const std::string& name, const TableOfTexts& table, const TextRows& encoded,
                        const std::vector<int64_t>& sequences) {
  std::vector<int32_t> ids;  // of all sequences
  ids.reserve(static_cast<size_t>(encoded.rows.tokens()));
  for (int64_t i = 0; i < encoded.rows.size(); ++i) {
    const auto row = encoded.rows.row(i);
    ids.insert(ids.end(), row.begin(), row.end());
  }
  std::unordered_map<std::string_view, int32_t> numbers;
  TextLists lists;
  TokenRows rows;
  size_t sequence = 0, token = 0;
  for (size_t i = 0; i < static_cast<size_t>(table.rows()); ++i) {
    const auto lengths =
        std::span(encoded.lengths).subspan(sequence, static_cast<size_t>(sequences[i]));
    const auto tokens =
        static_cast<size_t>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
    rows.add(std::span(ids).subspan(token, tokens));
    lists.lengths.add(lengths);
    std::vector<int32_t> types;
    if (!encoded.types.empty()) {
      const auto own = std::span(encoded.types).subspan(token, tokens);
      types.assign(own.begin(), own.end());
    }
    lists.types.add(types);
    add_cells(table, i, numbers, lists);
    sequence += lengths.size();
    token += tokens;
  }
  RowSplit out{
      name,
      std::move(rows),
      {},
      about_table(table, std::accumulate(encoded.cut.begin(), encoded.cut.end(), int64_t{0}))};
  out.beside.push_back({kSequenceLengths, std::move(lists.lengths)});
  out.beside.push_back({kSequenceTypes, std::move(lists.types)});
  out.beside.push_back({kColumnCounts, std::move(lists.counts)});
  out.beside.push_back({kTextNumbers, std::move(lists.texts)});
  out.beside.push_back({kLabelBits, std::move(lists.labels)});
  return out;
}

Result<TableOfTexts> open_text_shards(const std::string& folder, const ShardManifest& made,
                                      const std::string& split, int64_t limit) {
  const ShardSplit found = HONE_TRY(find_split(made, split, folder));
  TableOfTexts out = HONE_TRY(columns_of_shards(folder, found));
  out.shards = fmt::format("{}/{}", folder, split);
  const std::vector<bool> lists = lists_of_shards(found);
  const ListShards from = HONE_TRY(open_list_shards(
      folder, made, split,
      {kSequenceLengths, kSequenceTypes, kColumnCounts, kTextNumbers, kLabelBits}));
  const int64_t rows = limit < 0 ? from.ids.size() : std::min(limit, from.ids.size());
  for (int64_t i = 0; i < rows; ++i) {
    const TextRowLists row{from.ids.row(i),      from.lists[0].row(i), from.lists[1].row(i),
                           from.lists[2].row(i), from.lists[3].row(i), from.lists[4].row(i)};
    if (!fits_table(row, out, lists))
      return other_rows(folder, split, fmt::format("has other columns in row {}", i));
    take_shard_row(row, lists, out);
    out.places.push_back(fmt::format("{}/{} row {}", folder, split, i + 1));
  }
  return out;
}

Result<TableOfTexts> peek_text_shards(const std::string& folder, const std::string& split) {
  const ShardManifest made = HONE_TRY(read_shard_manifest(folder));
  const ShardSplit found = HONE_TRY(find_split(made, split, folder));
  TableOfTexts out = HONE_TRY(columns_of_shards(folder, found));
  const std::vector<bool> lists = lists_of_shards(found);
  for (size_t c = 0; c < lists.size(); ++c)
    if (lists[c]) out.lists[c].emplace_back();
  out.places.push_back(folder);
  return out;
}

Error other_sequences(const TableOfTexts& table, int64_t found, int64_t wanted) {
  return other_rows(table.shards, table.shards,
                    fmt::format("has {} where {} are wanted", count_of(found, "sequence"), wanted));
}

Result<TextRows> rows_of_tokens(const TableOfTexts& table, int64_t texts) {
  TextRows out;
  out.texts = std::max<int64_t>(texts, 1);
  for (size_t i = 0; i < table.tokens.size(); ++i) {
    const TableOfTexts::Tokens& row = table.tokens[i];
    if (texts > 0 && std::ssize(row.lengths) != texts)
      return other_sequences(table, std::ssize(row.lengths), texts);
    out.lengths.insert(out.lengths.end(), row.lengths.begin(), row.lengths.end());
    out.types.insert(out.types.end(), row.types.begin(), row.types.end());
    if (texts > 0) {
      out.rows.add(row.ids);
      continue;
    }
    size_t at = 0;
    for (const int32_t length : row.lengths) {
      out.rows.add(std::span(row.ids).subspan(at, static_cast<size_t>(length)));
      at += static_cast<size_t>(length);
    }
  }
  if (!out.types.empty() && std::ssize(out.types) != out.rows.tokens())
    return other_rows(table.shards, table.shards, "has token types in some rows alone");
  out.rows.shrink();
  return out;
}

void append_rows(TextRows& to, const TextRows& from) {
  HONE_BUG_IF(to.texts != from.texts, "rows of {} texts after rows of {}", from.texts, to.texts);
  if (to.types.empty() != from.types.empty())
    to.types.resize(static_cast<size_t>(to.rows.tokens()));
  to.types.insert(to.types.end(), from.types.begin(), from.types.end());
  const bool cuts = !to.cut.empty() || !from.cut.empty();
  if (cuts) to.cut.resize(static_cast<size_t>(to.rows.size()));
  to.cut.insert(to.cut.end(), from.cut.begin(), from.cut.end());
  for (int64_t i = 0; i < from.rows.size(); ++i) to.rows.add_from(from.rows, i);
  if (!to.types.empty()) to.types.resize(static_cast<size_t>(to.rows.tokens()));
  to.lengths.insert(to.lengths.end(), from.lengths.begin(), from.lengths.end());
  if (cuts) to.cut.resize(static_cast<size_t>(to.rows.size()));
}

}  // namespace hone
