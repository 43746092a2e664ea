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
  std::vector<std::string> text_columns;  // one or two; empty: chosen
  std::string label_column;               // empty: chosen
  bool label = true;                      // false: rows to predict, which need none
  // The model's. A column of rows to predict whose first value is one of them holds labels, and is not read.
  std::vector<std::string> known_labels = {};
  // Joins the texts of all text_columns into one; none: two columns are a pair.
  std::optional<std::string> delimiter = {};
};

struct LabelColumns {
  size_t first = 0;
  std::optional<size_t> second;  // of a pair of texts
  std::vector<size_t> joined =
      {};  // after the first, into one text; empty: it is alone, or of a pair
  std::optional<size_t> label;
  std::string guess = {};  // a sentence, where the label is only the last column; among `notes` too
  std::vector<std::string> notes;  // the columns that were chosen, for the log
};

// Texts: the columns of the flags; of the GLUE task; premise and hypothesis, or sentence1 and
// sentence2; else the first two columns (or the only one) besides the label, as in run_glue,
// without columns of numbers (`first_row`) and of lists. Label: the column of the flag; of the
// task; `label`, else `gold_label`, else `labels`, else the last column unless another name is nearly
// `label`. Errors: H2109.
Result<LabelColumns> find_label_columns(const std::vector<std::string>& columns,
                                        const Row& first_row, const LabelColumnOptions& wanted);

struct LabelReader {
  std::unique_ptr<RowReader> rows;  // before its first row
  LabelColumns columns;
};

// Opens files for classification. With a GLUE task, tab-separated files are read as GLUE wrote
// them: without quoting, with the known columns if there is no header, also .txt and files without
// extension. Errors: those of open_rows and find_label_columns, H2113 without a row.
Result<LabelReader> open_label_rows(const std::vector<std::string>& files,
                                    const RowOptions& options, const LabelColumnOptions& wanted);

}  // namespace hone
