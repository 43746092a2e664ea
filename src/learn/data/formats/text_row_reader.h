// Base class of the readers of text formats: counts rows, reports positions, and returns to the start of a row after an
// error.
#pragma once

#include "learn/data/formats/rows.h"

namespace hone {

class TextRowReader : public RowReader {
 public:
  // A byte order mark at the start is skipped.
  explicit TextRowReader(ByteReader in) : in_(std::move(in)) { in_.skip_bom(); }
  const std::vector<std::string>& columns() const final { return columns_; }
  Result<bool> next(Row& row) final;
  RowPosition position() const final { return {0, in_.offset(), in_.line(), rows_, in_.column()}; }
  Status seek(const RowPosition& at) final;

 protected:
  // Fills row.cells from in_. next() has set row.line to the current line; change it if the row begins at a later line.
  // Returns false after the last row. After an error next() returns to the start of the row.
  virtual Result<bool> read_row(Row& row) = 0;
  // Reads the first row and returns to its start, so that formats whose rows name the columns (jsonl) know columns().
  Status look_at_first_row();

  ByteReader in_;
  std::vector<std::string> columns_;
  int64_t rows_ = 0;  // rows that next() returned
};

}  // namespace hone
