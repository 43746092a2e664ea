#include "learn/data/formats/text_row_reader.h"

namespace hone {

Result<bool> TextRowReader::next(Row& row) {
  const RowPosition here = position();
  row.line = here.line;
  in_.begin_row();
  Result<bool> found = read_row(row);
  if (found.ok() && in_.failed()) found = in_.status().error();
  if (!found.ok()) {
    HONE_TRY(seek(here));
    return found;
  }
  row.file = in_.name();
  row.line_is_row = false;
  if (*found) ++rows_;
  return found;
}

Status TextRowReader::seek(const RowPosition& at) {
  rows_ = at.row;
  return in_.seek(at.offset, at.line, at.column);
}

Status TextRowReader::look_at_first_row() {
  const RowPosition start = position();
  Row row;
  HONE_TRY(next(row));
  return seek(start);
}

}  // namespace hone
