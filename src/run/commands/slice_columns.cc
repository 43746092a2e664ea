#include "run/commands/slice_columns.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/rows/files.h"
#include "learn/harness/prepared_source.h"
#include "run/commands/errors.h"
#include "run/commands/slice_values.h"

namespace hone {
namespace {

constexpr const char* kValidation = "validation";
constexpr int kFirstRows = 1000;  // json rows may name a column late

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
  const std::string& apart = chosen.task->text->apart;
  if (chosen.schema.at(apart).value() == true) return Ok{};
  return Error(err::kSavedExamples,
               fmt::format("a row of task {} is not a row of the file", chosen.task->name))
      .at("--slice_columns")
      .todo(fmt::format("add --{}, so that it is one, or leave --slice_columns out", apart));
}

Result<LabelSources> sources_of(const TextFiles& files) {
  LabelSources sources;
  sources.train = files.train_files;
  sources.validation =
      HONE_TRY(has_validation_split(files)) ? files.train_files : files.validation_files;
  return sources;
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

Status find_evaluated_columns(const Task& task, const std::vector<std::string>& columns) {
  const std::vector<std::string>& given = task.settings->validation_file;
  if (columns.empty() || given.empty()) return Ok{};
  if (given.size() == 1 && is_shard_folder(given[0])) {
    HONE_TRY(kept_columns(given[0], columns));
    return Ok{};
  }
  const auto reader = HONE_TRY(open_columns(task, HONE_TRY(expand_files(given, kValidation))));
  return find_columns(*reader, columns);
}

Result<std::vector<OrderedJson>> read_slices(const Task& task,
                                             const std::vector<std::string>& columns,
                                             const TokenRows& evaluated, size_t rows) {
  std::vector<OrderedJson> slices;
  if (columns.empty()) return slices;
  const std::vector<std::string>& given = task.settings->validation_file;
  const bool shards = given.size() == 1 && is_shard_folder(given[0]);
  std::vector<std::string> places;
  std::vector<ColumnValues> values =
      shards ? HONE_TRY(kept_columns(given[0], columns))
             : HONE_TRY(read_columns(task, HONE_TRY(expand_files(given, kValidation)), columns, {},
                                     &places));
  if (!shards && values[0].size() != rows) keep_places(evaluated, rows, places, values);
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
