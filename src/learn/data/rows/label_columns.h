// Finds the columns of a classification file that hold the texts and the label. The files of the GLUE benchmark have
// rules of their own (glue_tasks.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/data/rows/files.h"
#include "learn/data/rows/glue_tasks.h"

namespace hone {

struct LabelColumnOptions {
  const GlueTask* task = nullptr;  // null: not a GLUE task
  // The columns of text; empty: find_label_columns chooses.
  std::vector<std::string> text_columns = {};
  // The column of the label; empty: find_label_columns chooses.
  std::string label_column = {};
  bool label = true;  // false: these are rows to predict, which need no label
  // The model's labels. In rows to predict, a column other than the first is not taken as text if its value in the
  // first row is one of these labels.
  std::vector<std::string> known_labels = {};
  // The text columns that the model was trained on; empty: unknown. Used only if neither text_columns nor `task` names
  // the columns. If the file has trained_columns, they are taken; if not, the same number of other columns is needed.
  std::vector<std::string> trained_columns = {};
  // Set: the texts of all text_columns are joined into one text, with this delimiter between them. Unset: two columns
  // are a pair.
  std::optional<std::string> delimiter = {};
  bool keep_texts = false;  // fill RowLabels::texts
};

// The chosen columns, as indices into RowReader::columns().
struct LabelColumns {
  size_t first = 0;              // the text, or the first text
  std::optional<size_t> second;  // the second text of a pair
  // With a delimiter: the columns to append to the first text.
  std::vector<size_t> joined = {};
  std::optional<size_t> label;  // none: rows without a label
  // A sentence for the user if the last column was taken as the label because no column has a known name; else "".
  // Also in `notes`.
  std::string guess = {};
  bool texts_are_guessed = false;  // the texts were chosen by position, not by name
  // A sentence for the user if two columns without known names are read as a pair; else "".
  std::string text_guess = {};
  // A sentence for the user if the header of a csv or tsv file is probably a row of data; else "". Set by
  // open_label_rows. Also in `notes`.
  std::string lost_row = {};
  std::vector<std::string> notes;  // for the log: the columns that were chosen
};

// Chooses the columns; `first_row` shows the types of their values.
//
// - Texts, the first that applies: text_columns; the columns of the GLUE task; trained_columns; `premise` and
//   `hypothesis`; `sentence1` and `sentence2`; the columns that hold text other than numbers and are not the label, at
//   most the first two of them, as in run_glue of Transformers.
// - Label, the first that applies: label_column; the column of the GLUE task; the first of kClassColumns; the last
//   column. The last column is taken only if `label` is true, there is no task, the column was not chosen as a text
//   before, and no column has a name that looks like a misspelt "label".
//
// Errors: H2109 a column does not exist; no column holds text; no label was found although `label` is true; or the
// number of texts differs from trained_columns.
Result<LabelColumns> find_label_columns(const std::vector<std::string>& columns,
                                        const Row& first_row, const LabelColumnOptions& wanted);

struct LabelReader {
  std::unique_ptr<RowReader> rows;  // positioned before the first row
  LabelColumns columns;
};

// Opens files for classification. With a GLUE task, tab-separated files, .txt files and files without an extension are
// read in GLUE's own form: tabs without quoting, and task->file_columns if there is no header.
//
// LabelColumns::lost_row is set in two cases:
//
// - The label column was guessed, and its name looks like a value (value_in_header) or equals the label of one of the
//   first 100 rows.
// - These are rows to predict without a GLUE task, the text columns were guessed, and the name of any column looks like
//   a value or is a label of the model.
//
// Errors: those of open_rows and find_label_columns; H2113 there are no rows.
Result<LabelReader> open_label_rows(const std::vector<std::string>& files,
                                    const RowOptions& options, const LabelColumnOptions& wanted);

}  // namespace hone
