#include "learn/tasks/text_rows.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>

#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"
#include "learn/harness/collate.h"
#include "learn/harness/encode.h"

namespace hone {
namespace {

constexpr const char* kLabelColumns[] = {"label", "labels", "score", "scores"};

struct ChosenColumns {
  std::vector<size_t> texts;
  std::optional<size_t> label;
  bool guessed = false;  // no column is chosen by its name
};

Result<ChosenColumns> choose_text_columns(const std::vector<std::string>& columns,
                                          const TableOfTextsOptions& wanted,
                                          const std::string& file) {
  ChosenColumns out;
  if (!wanted.label_column.empty()) {
    out.label = place_of(columns, wanted.label_column);
    if (!out.label && wanted.wants_label) return no_column(columns, wanted.label_column, "", file);
  } else {
    for (const char* name : kLabelColumns)
      if (!out.label) out.label = place_of(columns, name);
  }
  for (const std::string& name : wanted.text_columns) {
    const auto at = place_of(columns, name);
    if (!at) return no_column(columns, name, "", file);
    out.texts.push_back(*at);
  }
  if (wanted.text_columns.empty())
    for (size_t i = 0; i < columns.size(); ++i)
      if (out.label != i) out.texts.push_back(i);
  out.guessed = wanted.text_columns.empty() && !out.label;
  if (!wanted.wants_label) out.label.reset();
  return out;
}

Error wrong_label(const Row& row, const std::string& column, const std::string& text) {
  return Error(err::kLabel, fmt::format("'{}' is not a number", preview(text, 40)))
      .at(fmt::format("{}, column '{}'", row.where(), column))
      .todo("labels and scores are numbers; name their column by `label_column_name`");
}

Status add_number(const std::string& text, const Row& row, const std::string& column,
                  std::vector<float>& out) {
  double value = 0;
  const std::string trimmed(trim(text));
  const char* end = trimmed.data() + trimmed.size();
  const auto read = std::from_chars(trimmed.data(), end, value);
  if (trimmed.empty() || read.ec != std::errc() || read.ptr != end)
    return wrong_label(row, column, text);
  out.push_back(static_cast<float>(value));
  return Ok{};
}

// The number of a cell, or the numbers of a list.
Status read_labels(const Row& row, size_t at, const std::string& column, std::vector<float>& out) {
  const Cell& cell = row.cells[at];
  if (const auto* whole = std::get_if<int64_t>(&cell)) {
    out.push_back(static_cast<float>(*whole));
  } else if (const auto* real = std::get_if<double>(&cell)) {
    out.push_back(static_cast<float>(*real));
  } else if (const auto* flag = std::get_if<bool>(&cell)) {
    out.push_back(*flag ? 1.0f : 0.0f);
  } else if (const auto* list = std::get_if<std::vector<int64_t>>(&cell)) {
    for (const int64_t x : *list) out.push_back(static_cast<float>(x));
  } else if (const auto* raw = std::get_if<RawJson>(&cell)) {
    const Result<Json> json = parse_json(raw->text, row.where());
    const bool numbers =
        json.ok() && json->is_array() &&
        std::all_of(json->begin(), json->end(), [](const Json& x) { return x.is_number(); });
    if (!numbers) return wrong_label(row, column, raw->text);
    for (const Json& x : *json) out.push_back(x.get<float>());
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    return add_number(*text, row, column, out);
  } else {
    return wrong_label(row, column, cell_type_name(cell));
  }
  return Ok{};
}

class TableReader {
 public:
  static Result<TableReader> open(const std::vector<std::string>& files, const RowOptions& options,
                                  const TableOfTextsOptions& wanted) {
    TableReader r;
    r.rows_ = HONE_TRY(open_rows(files, options));
    r.more_ = HONE_TRY(r.rows_->next(r.row_));
    if (!r.more_)
      return Error(err::kNoRows, "the data has no rows").at(files[0]).todo("give more data");
    const std::vector<std::string>& columns = r.rows_->columns();
    r.chosen_ = HONE_TRY(choose_text_columns(columns, wanted, files[0]));
    for (const size_t i : r.chosen_.texts) r.table_.columns.push_back(columns[i]);
    if (r.chosen_.label) r.table_.label_column = columns[*r.chosen_.label];
    r.table_.note = fmt::format("texts from {}", join(r.table_.columns, ", "));
    if (r.chosen_.label) r.table_.note += fmt::format(", label from {}", r.table_.label_column);
    const std::string value = r.chosen_.guessed ? value_in_header(columns) : "";
    if (const std::string lost = lost_row_of(files[0], options, value); !lost.empty())
      r.table_.note += "; " + lost + kLostRowTodo;
    r.table_.texts.resize(r.chosen_.texts.size());
    r.table_.lists.resize(r.chosen_.texts.size());
    return r;
  }

  Result<TableOfTexts> read(int64_t limit) {
    while (more_ && (limit < 0 || table_.rows() < limit)) {
      HONE_TRY(take_row());
      more_ = HONE_TRY(rows_->next(row_));
    }
    return std::move(table_);
  }
  TableOfTexts take_table() { return std::move(table_); }

 private:
  Status take_row() {
    for (size_t c = 0; c < chosen_.texts.size(); ++c) {
      const size_t at = chosen_.texts[c];
      const Cell& cell = row_.cells[at];
      if (const auto* list = std::get_if<std::vector<std::string>>(&cell)) {
        if (table_.lists[c].size() != places()) return mixed(c);
        table_.lists[c].push_back(*list);
        continue;
      }
      if (!std::holds_alternative<std::string>(cell))
        return Error(err::kCellType, fmt::format("column '{}' holds {}, not a text",
                                                 table_.columns[c], cell_type_name(cell)))
            .at(row_.where())
            .todo("name the columns of texts by `text_column_names`");
      if (table_.texts[c].size() != places()) return mixed(c);
      table_.texts[c].push_back(std::get<std::string>(cell));
    }
    if (chosen_.label) {
      const size_t before = table_.labels.size();
      HONE_TRY(read_labels(row_, *chosen_.label, table_.label_column, table_.labels));
      const auto number = static_cast<int64_t>(table_.labels.size() - before);
      if (table_.rows() == 0) table_.labels_of_row = number;
      if (number != table_.labels_of_row)
        return Error(err::kLabel, fmt::format("the row has {} labels, the first has {}", number,
                                              table_.labels_of_row))
            .at(row_.where())
            .todo("give each row the same number of labels");
    }
    table_.places.push_back(row_.where());
    return Ok{};
  }
  size_t places() const { return table_.places.size(); }
  Error mixed(size_t column) const {
    return Error(err::kCellType, fmt::format("column '{}' holds a text here and a list there",
                                             table_.columns[column]))
        .at(row_.where())
        .todo("write one of the two in all rows");
  }

  std::unique_ptr<RowReader> rows_;
  Row row_;
  bool more_ = false;
  ChosenColumns chosen_;
  TableOfTexts table_;
};

}  // namespace

void TableOfTexts::keep(int64_t begin, int64_t end) {
  const auto cut = [&](auto& list, int64_t each) {
    if (list.empty()) return;
    list.erase(list.begin() + end * each, list.end());
    list.erase(list.begin(), list.begin() + begin * each);
  };
  for (auto& column : texts) cut(column, 1);
  for (auto& column : lists) cut(column, 1);
  cut(labels, labels_of_row);
  cut(places, 1);
  cut(tokens, 1);
}

std::span<const std::string> TableOfTexts::texts_of(size_t column, size_t row) const {
  if (has_lists(column)) return lists[column][row];
  return std::span(texts[column]).subspan(row, 1);
}

Result<TableOfTexts> read_text_table(const std::vector<std::string>& files,
                                     const RowOptions& options, const TableOfTextsOptions& wanted,
                                     int64_t limit) {
  TableReader reader = HONE_TRY(TableReader::open(files, options, wanted));
  return reader.read(limit);
}

Status expect_single_texts(const TableOfTexts& table, const char* todo) {
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (table.has_lists(c))
      return Error(err::kCellType,
                   fmt::format("column '{}' holds lists of texts", table.columns[c]))
          .at(table.places[0])
          .todo(todo);
  return Ok{};
}

Result<TextRows> encode_text_rows(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                                  const TextsToEncode& columns,
                                  std::span<const std::string> places) {
  TextRows out;
  out.texts = std::ssize(columns.first);
  const size_t texts = columns.first.size(), rows = places.size();
  constexpr size_t kRowsAtOnce = 4096;
  const bool pairs = !columns.second.empty();
  std::vector<std::vector<int32_t>> ids(kRowsAtOnce * texts), types(pairs ? ids.size() : 0);
  std::vector<uint8_t> is_cut(ids.size());
  std::vector<int32_t> row;
  for (size_t begin = 0; begin < rows; begin += kRowsAtOnce) {
    const size_t n = std::min(kRowsAtOnce, rows - begin);
    for (size_t k = 0; k < texts; ++k) {
      const auto part = [&](const std::vector<std::vector<std::string_view>>& of) {
        return std::span(of[k]).subspan(begin, n);
      };
      HONE_TRY(encode_texts(tokenizer, pool, max_length, part(columns.first),
                            pairs ? part(columns.second) : std::span<const std::string_view>(),
                            [&](size_t i, const Encoding& e) {
                              ids[i * texts + k] = e.ids;
                              if (pairs) types[i * texts + k] = e.type_ids;
                              is_cut[i * texts + k] = e.cut;
                            }));
    }
    for (size_t i = 0; i < n; ++i) {
      row.clear();
      int32_t& cut = out.cut.emplace_back();
      for (size_t k = 0; k < texts; ++k) {
        const std::vector<int32_t>& one = ids[i * texts + k];
        if (one.empty())
          return Error(err::kEmptyField, "a text has no tokens")
              .at(places[begin + i])
              .todo("remove the row, or give it a text");
        out.lengths.push_back(static_cast<int32_t>(one.size()));
        cut += is_cut[i * texts + k];
        row.insert(row.end(), one.begin(), one.end());
        if (!pairs) continue;
        for (size_t t = 0; t < one.size(); ++t) {
          const auto& type = types[i * texts + k];
          out.types.push_back(static_cast<uint8_t>(t < type.size() ? type[t] : 0));
        }
      }
      out.rows.add(row);
    }
  }
  out.rows.shrink();
  return out;
}

Status collate_text_rows(const ModelConfig& config, const TokenRows& tokens, const TextRows& data,
                         const BatchRows& rows, Batch& to) {
  const auto ids = to.get<int32_t>("ids"), positions = to.get<int32_t>("positions"),
             cu = to.get<int32_t>("cu_seqlens"), segments = to.get_if<int32_t>("segments"),
             types = to.get_if<int32_t>("token_types");
  const auto samples = to.get_if<int64_t>("sample_ids");
  const auto labels = to.get_if<float>("labels"), weight = to.get_if<float>("weight");
  std::fill(labels.begin(), labels.end(), 0.0f);
  std::fill(weight.begin(), weight.end(), 0.0f);
  size_t at = 0, sequence = 0, q = 0;
  for (const int64_t row : rows.rows) {
    const std::span<const int32_t> from = tokens.row(row);
    HONE_BUG_IF(at + from.size() > ids.size(), "row {} of {} tokens at {} of {}", row, from.size(),
                at, ids.size());
    std::copy(from.begin(), from.end(), ids.begin() + static_cast<std::ptrdiff_t>(at));
    int64_t text = row * data.texts;
    for (const int32_t length : data.lengths_of(row)) {
      cu[sequence] = static_cast<int32_t>(at);
      for (int32_t i = 0; i < length; ++i, ++at) {
        positions[at] = i;
        if (!segments.empty()) segments[at] = static_cast<int32_t>(sequence);
        if (!samples.empty()) samples[at] = text;
      }
      ++sequence, ++text;
    }
    if (!types.empty()) {
      const auto own = static_cast<std::ptrdiff_t>(from.size());
      const auto end = types.begin() + static_cast<std::ptrdiff_t>(at);
      if (data.types.empty())
        std::fill(end - own, end, 0);
      else
        std::copy_n(data.types.begin() + (from.data() - tokens.row(0).data()), own, end - own);
    }
    if (!labels.empty() && data.labels_of_row > 0) {
      const auto own = data.labels_of(row);
      std::copy(own.begin(), own.end(),
                labels.begin() + static_cast<std::ptrdiff_t>(q) * std::ssize(own));
    }
    if (!weight.empty()) weight[q] = 1.0f;
    ++q;
  }
  const auto rest = static_cast<std::ptrdiff_t>(at);
  HONE_BUG_IF(at < ids.size() && sequence + 1 >= cu.size(),
              "no sequence is left for the slack after {} of {}", at, ids.size());
  std::fill(ids.begin() + rest, ids.end(), 0);
  std::fill(positions.begin() + rest, positions.end(), 0);
  if (!segments.empty()) std::fill(segments.begin() + rest, segments.end(), -1);
  if (!samples.empty()) std::fill(samples.begin() + rest, samples.end(), -1);
  if (!types.empty()) std::fill(types.begin() + rest, types.end(), 0);
  std::fill(cu.begin() + static_cast<std::ptrdiff_t>(sequence), cu.end(),
            static_cast<int32_t>(ids.size()));
  cu[sequence] = static_cast<int32_t>(at);
  return finish_tokens(config, to);
}

uint64_t hash_of(const TextRows& rows) {
  uint64_t hash = rows.rows.hash();
  for (const float label : rows.labels)
    hash = fnv1a(hash, uint64_t{std::bit_cast<uint32_t>(label)});
  return hash;
}

std::string describe(const TextRows& rows, int64_t max_length) {
  std::string text =
      fmt::format("{} of {} -> {}, at most {} each", count_of(rows.rows.size(), "row"),
                  count_of(rows.texts, "text"), count_of(rows.rows.tokens(), "token"), max_length);
  const auto cut = std::accumulate(rows.cut.begin(), rows.cut.end(), int64_t{0});
  if (cut > 0) text += fmt::format("; {} cut", count_of(cut, "text"));
  return text;
}

}  // namespace hone
