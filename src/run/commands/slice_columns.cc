#include "run/commands/slice_columns.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/rows/files.h"
#include "learn/harness/prepared_source.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

constexpr const char* kValidation = "validation";
constexpr int kFirstRows = 1000;  // json rows may name a column late

using ColumnValues = std::vector<OrderedJson>;  // of a column, by row

Error other_rows(size_t file_rows, size_t rows) {
  return Error(
             err::kSavedExamples,
             fmt::format("the files have {} rows, {} were taken: their columns cannot be assigned",
                         file_rows, rows))
      .at("--slice_columns")
      .todo("delete from the file the rows that the task drops, or leave --slice_columns out");
}

std::string slices_file(const std::string& folder) {
  return without_end_slash(folder) + "/" + kValidation + "/slices.json";
}

OrderedJson value_of_cell(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&cell)) return double_text(*number);
  if (const auto* yes = std::get_if<bool>(&cell)) return *yes ? "true" : "false";
  return nullptr;
}

Result<std::unique_ptr<RowReader>> open_columns(const Task& task,
                                                const std::vector<std::string>& files) {
  RowOptions options;
  options.format = task.file_format(files);
  options.encoding = HONE_TRY(encoding_of(task.settings->encoding));
  return open_rows(files, options);
}

Result<std::vector<size_t>> indices_of(const RowReader& rows,
                                       const std::vector<std::string>& columns) {
  std::vector<size_t> at;
  for (const std::string& column : columns) at.push_back(HONE_TRY(text_column(rows, column)));
  return at;
}

// By column; each has a value for each row of the files that has all `texts`.
Result<std::vector<ColumnValues>> read_columns(const Task& task,
                                               const std::vector<std::string>& files,
                                               const std::vector<std::string>& columns,
                                               const std::vector<std::string>& texts = {}) {
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
  }
  return values;
}

// The columns of texts without which hone prepare leaves a row out.
std::vector<std::string> needed_texts(const ShardManifest& shards) {
  std::vector<std::string> texts;
  for (const char* key : {"text_column", "summary_column"})
    if (std::string column = text_at(shards.settings, key); !column.empty())
      texts.push_back(std::move(column));
  return texts;
}

// The files of the validation rows; those of the training rows, if a share of these is taken.
Result<std::vector<std::string>> validation_files(const LabelSources& sources) {
  std::vector<std::string> train;
  for (PreparedFiles& files : HONE_TRY(split_files(sources))) {
    if (files.split == kValidation) return std::move(files.files);
    if (files.split == "train") train = std::move(files.files);
  }
  return train;
}

Result<std::vector<ColumnValues>> kept_columns(const std::string& folder,
                                               const std::vector<std::string>& columns) {
  const std::string file = slices_file(folder);
  OrderedJson kept = OrderedJson::object();
  if (HONE_TRY(file_store().exists(file)))
    kept = HONE_TRY(parse_ordered_json(HONE_TRY(file_store().read(file)), file));
  std::vector<ColumnValues> values;
  for (const std::string& column : columns) {
    const auto at = kept.find(column);
    if (!kept.is_object() || at == kept.end() || !at->is_array())
      return Error(err::kSavedExamples,
                   fmt::format("the shards do not keep the column '{}'", column))
          .at(folder)
          .todo(fmt::format("prepare the data again with --slice_columns {}", column));
    values.emplace_back(at->begin(), at->end());
  }
  return values;
}

}  // namespace

Status check_slice_columns(const ChosenTask& chosen, const std::vector<std::string>& columns) {
  if (columns.empty() || !chosen.task->text) return Ok{};
  return Error(err::kSavedExamples,
               fmt::format("a row of task {} is not a row of the file", chosen.task->name))
      .at("--slice_columns")
      .todo("leave --slice_columns out");
}

Status find_columns(RowReader& rows, const std::vector<std::string>& columns) {
  const auto lacks = [&](const std::string& column) {
    return !std::count(rows.columns().begin(), rows.columns().end(), column);
  };
  Row row;
  for (int i = 0; i < kFirstRows && std::any_of(columns.begin(), columns.end(), lacks); ++i)
    if (!HONE_TRY(rows.next(row))) break;
  for (const std::string& column : columns) HONE_TRY(text_column(rows, column));
  return Ok{};
}

Status find_slice_columns(const Task& task, const LabelSources& sources,
                          const std::vector<std::string>& columns) {
  const std::vector<std::string> files = HONE_TRY(validation_files(sources));
  if (columns.empty() || files.empty() || is_shard_folder(files[0])) return Ok{};
  const auto reader = HONE_TRY(open_columns(task, files));
  return find_columns(*reader, columns);
}

Status keep_slices(const std::string& folder, const ShardManifest& shards, const Task& task,
                   const LabelSources& sources, const std::vector<std::string>& columns) {
  if (columns.empty()) return Ok{};
  const std::vector<std::string> files = HONE_TRY(validation_files(sources));
  std::vector<ColumnValues> values = HONE_TRY(read_columns(task, files, columns));
  const bool is_share = sources.validation.empty();  // the first of the training rows
  size_t kept = 0, all = 0;
  for (const ShardSplit& split : shards.splits) {
    const auto rows = static_cast<size_t>(split.rows());
    if (split.name == kValidation) kept = rows;
    if (split.name == kValidation || (is_share && split.name == "train")) all += rows;
  }
  if (values[0].size() > all)
    values = HONE_TRY(read_columns(task, files, columns, needed_texts(shards)));
  if (values[0].size() != all || !sources.dev_ids.empty()) return other_rows(values[0].size(), all);
  OrderedJson j = OrderedJson::object();
  for (size_t c = 0; c < columns.size(); ++c)
    j[columns[c]] = ColumnValues(values[c].begin(), values[c].begin() + static_cast<int64_t>(kept));
  return file_store().write(slices_file(folder), dump_json(j) + "\n");
}

Result<std::vector<OrderedJson>> read_slices(const Task& task,
                                             const std::vector<std::string>& columns, size_t rows) {
  std::vector<OrderedJson> slices;
  if (columns.empty()) return slices;
  const std::vector<std::string>& given = task.settings->validation_file;
  const bool shards = given.size() == 1 && is_shard_folder(given[0]);
  const std::vector<ColumnValues> values =
      shards ? HONE_TRY(kept_columns(given[0], columns))
             : HONE_TRY(read_columns(task, HONE_TRY(expand_files(given, kValidation)), columns));
  const bool some = task.settings->max_eval_samples >= 0;
  for (const ColumnValues& v : values)
    if (v.size() != rows && !(some && v.size() > rows)) return other_rows(v.size(), rows);
  for (size_t i = 0; i < rows; ++i) {
    OrderedJson row = OrderedJson::object();
    for (size_t c = 0; c < columns.size(); ++c) row[columns[c]] = values[c][i];
    slices.push_back(std::move(row));
  }
  return slices;
}

}  // namespace hone
