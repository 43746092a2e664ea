// For the fuzzers of formats: checks that rows read again from a saved position are the same.
#pragma once

#include "learn/data/formats/rows.h"

namespace hone {

// Reads up to `most` rows, each twice. Traps (aborts the process) if the second reading of a row fails or ends at
// another position, or if same(row, again) is false. If the first reading of a row fails, the function returns.
template <class Same>
void read_rows_twice(RowReader& reader, Same&& same, int64_t most = INT64_MAX) {
  Row row, again;
  for (int64_t i = 0; i < most; ++i) {
    const RowPosition at = reader.position();
    auto more = reader.next(row);
    if (!more.ok() || !*more) return;
    const RowPosition behind = reader.position();
    if (!reader.seek(at).ok() || !*reader.next(again) || !same(row, again) ||
        reader.position() != behind)
      __builtin_trap();
  }
}

}  // namespace hone
