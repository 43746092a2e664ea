// One column of a file of predictions or references. In a predict_results file of run_glue, the
// column is the text after the index.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "learn/data/formats/rows.h"

namespace hone {

class ScoreColumn {
 public:
  // `wanted`: the column's name; "": the first of `preferred` that the file has, else text, else the first column.
  // Errors: those of open_rows and text_column.
  static Result<ScoreColumn> open(const std::string& file, const std::string& wanted,
                                  std::span<const char* const> preferred = {});
  // Appends the texts of the next row, several if its cell is a list; false after the last row.
  Result<bool> next(std::vector<std::string>& texts);
  std::string where() const { return row_.where(); }
  // "column 'label' of dev.csv"; " (the first)" follows if no name chose it.
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
