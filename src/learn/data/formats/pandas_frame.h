// The table in a pickle: a pandas DataFrame as pandas 0.2x to 3 write it, a list of dicts, or a
// dict of lists. Reference: pandas/core/internals (BlockManager.__reduce__ and __setstate__),
// NumPy's ndarray.__reduce__, pyarrow's Array.__reduce__.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/data/formats/pickled_cells.h"

namespace hone {

struct PickledTable {
  std::vector<std::string> names;
  std::vector<std::unique_ptr<CellArray>> columns;  // all of `rows` cells
  int64_t rows = 0;
};

// Views into the pickle. NaN, None, NA are null. The row index of a DataFrame is left out. Errors,
// also when a cell is read: H2701 (not in pandas' form), H2703 (names a class other than text,
// numbers and booleans), H2704 (a cell that unpacks to too many bytes).
Result<PickledTable> read_pickled_table(const Pickle& pickle, const std::string& file);

}  // namespace hone
