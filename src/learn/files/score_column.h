// Reads one column of a file of predictions or references. In a predict_results file of run_glue each line is an index,
// a tab and a prediction; from such a file the predictions are read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "learn/data/formats/rows.h"

namespace hone {

class ScoreColumn {
 public:
  // Opens a file. Reads the column `wanted`. If `wanted` is "", reads the first of the columns `preferred` that the
  // file has, else the column `text`, else the first column. Errors: those of open_rows and text_column
  // (learn/data/rows/files.h).
  static Result<ScoreColumn> open(const std::string& file, const std::string& wanted,
                                  std::span<const char* const> preferred = {});
  // Appends to `texts` the text in the cell of the next row; if the cell is a list, all its texts. A number becomes its
  // decimal text, true becomes "1", and false becomes "0". Returns false after the last row. Errors: those of the
  // reader; H2110 a cell of any other type.
  Result<bool> next(std::vector<std::string>& texts);
  // The file and line of the row that next() read last: "dev.csv:7".
  std::string where() const { return row_.where(); }
  // "column 'label' of dev.csv" for messages. Ends with " (the first)" if the column was chosen only by its position.
  std::string about() const;
  const std::string& file() const { return file_; }
  const std::vector<std::string>& columns() const { return rows_->columns(); }

 private:
  bool is_text(std::string_view wanted) const;

  std::unique_ptr<RowReader> rows_;
  std::string file_, name_;
  size_t column_ = 0;
  Row row_;
  bool first_ = true, has_index_ = false;
};

}  // namespace hone
