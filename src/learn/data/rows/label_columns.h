// Finds the columns of a classification file that hold the texts and the label. GLUE's files are
// read in a way of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/data/rows/files.h"
#include "learn/data/rows/glue_tasks.h"

namespace hone {

struct LabelColumnOptions {
  const GlueTask* task = nullptr;
  std::vector<std::string> text_columns = {};  // one or two; empty: chosen
  std::string label_column = {};               // empty: chosen
  bool label = true;                           // false: rows to predict, which need none
  // The model's. A column of rows to predict whose first value is one of them holds labels, and is not read.
  std::vector<std::string> known_labels = {};
  // The texts that the model was trained on; empty: unknown. Taken where the file has them and nothing else is named;
  // rows with another number of texts are refused.
  std::vector<std::string> trained_columns = {};
  // Joins the texts of all text_columns into one; none: two columns are a pair.
  std::optional<std::string> delimiter = {};
  bool keep_texts = false;  // RowLabels::texts
};

struct LabelColumns {
  size_t first = 0;
  std::optional<size_t> second;  // of a pair of texts
  std::vector<size_t> joined =
      {};  // after the first, into one text; empty: it is alone, or of a pair
  std::optional<size_t> label;
  std::string guess = {};  // a sentence, where the label is only the last column; among `notes` too
  bool texts_are_guessed = false;  // by their place, not by a name
  std::string text_guess =
      {};  // a sentence, if two columns without known names are taken for a pair
  // A sentence, where the header of a csv or tsv file is probably its first row; among `notes` too: by open_label_rows.
  std::string lost_row = {};
  std::vector<std::string> notes;  // the columns that were chosen, for the log
};

// Texts: the columns of the flags; of the GLUE task; those of the model's training; premise and hypothesis, or sentence1 and
// sentence2; else the first two columns (or the only one) besides the label, as in run_glue,
// without columns of numbers (`first_row`) and of lists. Label: the column of the flag; of the
// task; the first of kClassColumns, else the last column unless another name is nearly `label`. Errors: H2109.
Result<LabelColumns> find_label_columns(const std::vector<std::string>& columns,
                                        const Row& first_row, const LabelColumnOptions& wanted);

struct LabelReader {
  std::unique_ptr<RowReader> rows;  // before its first row
  LabelColumns columns;
};

// Opens files for classification. With a GLUE task, tab-separated files are read as GLUE wrote
// them: without quoting, with the known columns if there is no header, also .txt and files without
// extension. A header is taken for a lost row if the guessed label column has a value as its name (value_in_header) or a
// label of the first 100 rows; in rows to predict without known text columns, if any name is a value or a label of the model.
// Errors: those of open_rows and find_label_columns, H2113 without a row.
Result<LabelReader> open_label_rows(const std::vector<std::string>& files,
                                    const RowOptions& options, const LabelColumnOptions& wanted);

}  // namespace hone
