// Reads rows from bytes in memory, for tests.
#pragma once

#include "learn/data/formats/bytes.h"
#include "learn/data/formats/rows.h"

namespace hone {

// The extension of `name` decides the format; `name` also appears in messages.
inline Result<std::unique_ptr<RowReader>> open_rows_of_bytes(std::string name, std::string bytes,
                                                             const RowOptions& options = {}) {
  return open_source(memory_source(std::move(name), std::move(bytes)), options);
}

}  // namespace hone
