// Shared parts of text format readers: the place of a row, positions, going back after errors.
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
  // Fills the cells of the next row, and row.line if it does not begin at the reader's place; false
  // after the last row. After a failure, the bytes that it has read are read again.
  virtual Result<bool> read_row(Row& row) = 0;
  // Names the columns of formats that learn them from rows.
  Status look_at_first_row();

  ByteReader in_;
  std::vector<std::string> columns_;
  int64_t rows_ = 0;  // given so far
};

}  // namespace hone
