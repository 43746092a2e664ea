#include "learn/data/rows/label_columns.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/unpack.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/parsed.h"

namespace hone {
namespace {

using Names = std::vector<std::string>;

bool have_all(const Names& columns, const Names& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const std::string& name) { return place_of(columns, name).has_value(); });
}

// Text that is not a number such as 12, -3.5 or 1e-4.
bool is_text(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text && !parsed_finite(*text);
}

bool holds_label(const Row& row, size_t column, const Names& labels) {
  const auto* text =
      column < row.cells.size() ? std::get_if<std::string>(&row.cells[column]) : nullptr;
  return text && std::find(labels.begin(), labels.end(), *text) != labels.end();
}

}  // namespace

Result<LabelColumns> find_label_columns(const Names& columns, const Row& row,
                                        const LabelColumnOptions& wanted) {
  const std::string where(row.file);
  const GlueTask* task = wanted.task;
  const bool own_file =
      task && !have_all(columns, task->text) && have_all(columns, task->file_text);
  LabelColumns out;
  if (!wanted.label_column.empty()) {
    out.label = place_of(columns, wanted.label_column);
    if (!out.label && wanted.label) return no_column(columns, wanted.label_column, "", where);
  } else {
    if (task) out.label = place_of(columns, task->file_label);
    for (const char* name : {"label", "gold_label", "labels"})
      if (!out.label) out.label = place_of(columns, name);
    // By its place where the rest of the header is GLUE's: MRPC's begins with three foreign bytes.
    if (!out.label && own_file && columns.size() == task->file_columns.size())
      out.label = place_of(task->file_columns, task->file_label);
  }
  Names texts = wanted.text_columns;
  if (texts.empty() && task) {
    texts = own_file ? task->file_text : task->text;
    if (!have_all(columns, texts) && !own_file) {
      for (const std::string& name : texts)
        if (!place_of(columns, name))
          return no_column(columns, name, fmt::format(", which the task {} reads", task->name),
                           where);
    }
  }
  const bool chosen = texts.empty();
  for (const Names& pair : {Names{"premise", "hypothesis"}, Names{"sentence1", "sentence2"}})
    if (texts.empty() && have_all(columns, pair)) texts = pair;
  for (size_t c = 0; chosen && texts.size() < 2 && c < columns.size(); ++c) {
    // The last column is the label if no column has one of the known names.
    bool is_label =
        out.label ? c == *out.label : wanted.label && columns.size() > 1 && c + 1 == columns.size();
    if (!is_label && !wanted.label && c > 0 && holds_label(row, c, wanted.known_labels)) {
      is_label = true;
      out.notes.push_back(
          fmt::format("'{}' holds labels and is not read", preview(columns[c], 40)));
    }
    if (!is_label && c < row.cells.size() && is_text(row.cells[c])) texts.push_back(columns[c]);
  }
  if (texts.empty())
    return Error(err::kNoColumn, "no column holds text")
        .at(row.where())
        .todo(
            fmt::format("name it by `text_column_names`; the columns are {}", join(columns, ", ")));
  std::vector<size_t> places;
  for (const std::string& name : texts) {
    const auto at = place_of(columns, name);
    if (!at) return no_column(columns, name, "", where);
    places.push_back(*at);
  }
  if (!out.label && wanted.label) {
    const size_t last = columns.size() - 1;
    // Whoever misspells the name does not mean another column.
    const bool misspelt = !nearest_name("label", columns).empty();
    if (task || misspelt || std::find(places.begin(), places.end(), last) != places.end())
      return no_column(columns, task ? task->file_label : "label", ", which holds the labels",
                       where);
    out.label = last;
    out.guess = fmt::format("there is no column 'label': the last column, '{}', is taken",
                            preview(columns[last], 40));
    out.notes.push_back(out.guess);
  }
  out.first = places[0];
  if (wanted.delimiter)
    out.joined.assign(places.begin() + 1, places.end());
  else if (places.size() > 1)
    out.second = places[1];
  out.notes.push_back(fmt::format(
      "text from {}{}", join(texts, " and "),
      out.label && wanted.label ? fmt::format(", label from {}", columns[*out.label]) : ""));
  return out;
}

Result<LabelReader> open_label_rows(const std::vector<std::string>& files, const RowOptions& given,
                                    const LabelColumnOptions& wanted) {
  RowOptions options = given;
  if (wanted.task && !files.empty()) {
    const std::string base(
        without_packing(std::string_view(files[0]).substr(files[0].find_last_of('/') + 1)));
    if (options.format.empty() && (base.find('.') == std::string::npos || base.ends_with(".txt")))
      options.format = "tsv";
    const auto format = find_format(files[0], options);
    if (format.ok() && format->name == "tsv") {
      options.quoted = false;
      if (options.column_names.empty()) {
        const auto reader = HONE_TRY(open_rows(files, options));
        const Names& names = reader->columns();
        if (!have_all(names, wanted.task->file_text) && !have_all(names, wanted.task->text) &&
            names.size() == wanted.task->file_columns.size())
          options.column_names = wanted.task->file_columns;
      }
    }
  }
  LabelReader out;
  out.rows = HONE_TRY(open_rows(files, options));
  const RowPosition start = out.rows->position();
  Row row;
  if (!HONE_TRY(out.rows->next(row)))
    return Error(err::kNoRows, "the data has no rows").at(files[0]).todo("give more data");
  out.columns = HONE_TRY(find_label_columns(out.rows->columns(), row, wanted));
  std::vector<size_t> read{out.columns.first};
  read.insert(read.end(), out.columns.joined.begin(), out.columns.joined.end());
  for (const auto& column : {out.columns.second, out.columns.label})
    if (column) read.push_back(*column);
  out.rows->read_only(read);
  HONE_TRY(out.rows->seek(start));
  return out;
}

}  // namespace hone
