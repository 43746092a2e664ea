#include "run/commands/slice_values.h"

#include <algorithm>

#include "learn/data/rows/files.h"

namespace hone {
namespace {

OrderedJson value_of_cell(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&cell)) return double_text(*number);
  if (const auto* yes = std::get_if<bool>(&cell)) return *yes ? "true" : "false";
  return nullptr;
}

Result<std::vector<size_t>> indices_of(const RowReader& rows,
                                       const std::vector<std::string>& columns) {
  std::vector<size_t> at;
  for (const std::string& column : columns) at.push_back(HONE_TRY(text_column(rows, column)));
  return at;
}

}  // namespace

Result<std::unique_ptr<RowReader>> open_columns(const Task& task,
                                                const std::vector<std::string>& files) {
  RowOptions options;
  options.format = task.file_format(files);
  options.encoding = HONE_TRY(encoding_of(task.settings->encoding));
  return open_rows(files, options);
}

Result<std::vector<ColumnValues>> read_columns(const Task& task,
                                               const std::vector<std::string>& files,
                                               const std::vector<std::string>& columns,
                                               const std::vector<std::string>& texts,
                                               std::vector<std::string>* places) {
  const auto reader = HONE_TRY(open_columns(task, files));
  std::vector<ColumnValues> values(columns.size());
  Row row;
  std::vector<size_t> at, texts_at;
  while (HONE_TRY(reader->next(row))) {
    if (at.empty()) {
      at = HONE_TRY(indices_of(*reader, columns));
      texts_at = HONE_TRY(indices_of(*reader, texts));
    }
    const auto lacks = [&](size_t column) {
      const OrderedJson value = value_of_cell(row.cells[column]);
      return value.is_null() || value == "";
    };
    if (std::any_of(texts_at.begin(), texts_at.end(), lacks)) continue;
    for (size_t c = 0; c < columns.size(); ++c)
      values[c].push_back(value_of_cell(row.cells[at[c]]));
    if (places) places->push_back(row.where());
  }
  return values;
}

void keep_places(const TokenRows& evaluated, size_t rows, const std::vector<std::string>& places,
                 std::vector<ColumnValues>& values) {
  std::vector<size_t> kept;
  size_t at = 0;  // both are in the order of the files
  for (size_t i = 0; i < rows && static_cast<int64_t>(i) < evaluated.size(); ++i) {
    const std::string place = evaluated.place_text(static_cast<int64_t>(i));
    while (at < places.size() && places[at] != place) ++at;
    if (at == places.size()) return;
    kept.push_back(at++);
  }
  for (ColumnValues& v : values) {
    ColumnValues of_kept;
    for (const size_t k : kept) of_kept.push_back(v[k]);
    v = std::move(of_kept);
  }
}

}  // namespace hone
