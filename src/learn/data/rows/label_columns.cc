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
constexpr int kHeaderRows = 100;  // whose labels are compared with the header

bool have_all(const Names& columns, const Names& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const std::string& name) { return place_of(columns, name).has_value(); });
}

// Text that is not a number such as 12, -3.5 or 1e-4.
bool is_text(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text && !parsed_finite(*text);
}

// The rows have `found`, and the model reads another number of texts.
Error not_as_trained(const Names& columns, const Names& found, const Names& trained) {
  return Error(err::kNoColumn,
               fmt::format("the model was trained on {} of {}, and the rows have {}",
                           trained.size() == 1 ? "one text," : "pairs", join(trained, " and "),
                           found.size() == 1 ? "one text, of " + found[0]
                                             : "two texts, of " + join(found, " and ")))
      .todo(fmt::format("name what it reads by `text_column_names`; the columns are {}",
                        join(columns, ", ")));
}

bool holds_label(const Row& row, size_t column, const Names& labels) {
  const auto* text =
      column < row.cells.size() ? std::get_if<std::string>(&row.cells[column]) : nullptr;
  return text && std::find(labels.begin(), labels.end(), *text) != labels.end();
}

// Tells what shows that the header is a row; "": nothing does. Only guessed columns are looked at: a column that is found by
// its name has a header.
std::string row_in_header(LabelReader& reader, const LabelColumnOptions& wanted) {
  const Names& columns = reader.rows->columns();
  if (!wanted.label && !wanted.task && columns.size() > 1 && reader.columns.texts_are_guessed)
    return value_in_header(columns, wanted.known_labels);
  if (reader.columns.guess.empty()) return "";
  const size_t label = *reader.columns.label;
  const std::string name = columns[label];
  if (std::string why = value_in_header(columns, label); !why.empty()) return why;
  Row row;
  for (int i = 0; i < kHeaderRows; ++i) {
    const auto found = reader.rows->next(row);
    if (!found.ok() || !*found) break;  // the reading of the rows reports it
    if (holds_label(row, label, {name}))
      return fmt::format("'{}' is also the label of {}", preview(name, 40), row.where());
  }
  return "";
}

// Notes a first row that was taken as the header. The caller puts the reader back to its first row.
void note_lost_row(const std::string& file, const RowOptions& options,
                   const LabelColumnOptions& wanted, LabelReader& reader) {
  reader.columns.lost_row = lost_row_of(file, options, row_in_header(reader, wanted));
  if (!reader.columns.lost_row.empty())
    reader.columns.notes.push_back(reader.columns.lost_row + kLostRowTodo);
}

// The column of the label by its name; none if no column has one.
std::optional<size_t> label_by_name(const Names& columns, const LabelColumnOptions& wanted,
                                    bool own_file) {
  if (!wanted.label_column.empty()) return place_of(columns, wanted.label_column);
  const GlueTask* task = wanted.task;
  std::optional<size_t> label;
  if (task) label = place_of(columns, task->file_label);
  for (const char* name : kClassColumns)
    if (!label) label = place_of(columns, name);
  // By its place where the rest of the header is GLUE's: MRPC's begins with three foreign bytes.
  if (!label && own_file && columns.size() == task->file_columns.size())
    label = place_of(task->file_columns, task->file_label);
  return label;
}

// The first two columns of text besides the label, or the only one.
Names guessed_texts(const Names& columns, const Row& row, const LabelColumnOptions& wanted,
                    LabelColumns& out) {
  Names texts, others;  // others: further columns of text
  for (size_t c = 0; c < columns.size(); ++c) {
    // The last column is the label if no column has one of the known names.
    bool is_label =
        out.label ? c == *out.label : wanted.label && columns.size() > 1 && c + 1 == columns.size();
    if (!is_label && !wanted.label && c > 0 && texts.size() < 2 &&
        holds_label(row, c, wanted.known_labels)) {
      is_label = true;
      out.notes.push_back(
          fmt::format("'{}' holds labels and is not read", preview(columns[c], 40)));
    }
    if (!is_label && c < row.cells.size() && is_text(row.cells[c]))
      (texts.size() < 2 ? texts : others).push_back(columns[c]);
  }
  if (texts.size() == 2)
    out.text_guess = fmt::format(
        "no text column is named: {} are read as a pair{}", join(texts, " and "),
        others.empty() ? "" : fmt::format(", and {} not at all", preview(join(others, ", "), 80)));
  return texts;
}

}  // namespace

Result<LabelColumns> find_label_columns(const Names& columns, const Row& row,
                                        const LabelColumnOptions& wanted) {
  const std::string where(row.file);
  const GlueTask* task = wanted.task;
  const bool own_file =
      task && !have_all(columns, task->text) && have_all(columns, task->file_text);
  LabelColumns out;
  out.label = label_by_name(columns, wanted, own_file);
  if (!out.label && !wanted.label_column.empty() && wanted.label)
    return no_column(columns, wanted.label_column, "", where);
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
  if (texts.empty() && have_all(columns, wanted.trained_columns)) texts = wanted.trained_columns;
  const bool chosen = texts.empty();
  for (const Names& pair : {Names{"premise", "hypothesis"}, Names{"sentence1", "sentence2"}})
    if (texts.empty() && have_all(columns, pair)) texts = pair;
  out.texts_are_guessed = texts.empty();
  if (texts.empty()) texts = guessed_texts(columns, row, wanted, out);
  if (texts.empty())
    return Error(err::kNoColumn, "no column holds text")
        .at(row.where())
        .todo(
            fmt::format("name it by `text_column_names`; the columns are {}", join(columns, ", ")));
  if (chosen && !wanted.trained_columns.empty() && texts.size() != wanted.trained_columns.size())
    return not_as_trained(columns, texts, wanted.trained_columns).at(where);
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
  note_lost_row(files[0], options, wanted, out);
  std::vector<size_t> read{out.columns.first};
  read.insert(read.end(), out.columns.joined.begin(), out.columns.joined.end());
  for (const auto& column : {out.columns.second, out.columns.label})
    if (column) read.push_back(*column);
  out.rows->read_only(read);
  HONE_TRY(out.rows->seek(start));
  return out;
}

}  // namespace hone
