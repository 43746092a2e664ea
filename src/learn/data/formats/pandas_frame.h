// Reads the table in a pickle: a DataFrame of pandas 0.2x to 3, a list of dicts, or a dict of lists. Reference:
// pandas/core/internals (BlockManager.__reduce__ and __setstate__), NumPy's ndarray.__reduce__, pyarrow's
// Array.__reduce__.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/data/formats/pickled_cells.h"

namespace hone {

struct PickledTable {
  std::vector<std::string> names;
  std::vector<std::unique_ptr<CellArray>> columns;  // each has `rows` cells
  int64_t rows = 0;
};

// The columns are views into the pickle, which must outlive them. NaN, None and NA become null. The row index of a
// DataFrame is left out. `file` is the name for messages. Errors of this function and of CellArray::cell(): H2701 the
// pickle is not in pandas' form; H2703 a class that hone does not read (it reads text, numbers, booleans, and lists or
// dicts of them); H2704 a nested cell that unpacks to too many bytes; H2108 text that is not UTF-8.
Result<PickledTable> read_pickled_table(const Pickle& pickle, const std::string& file);

}  // namespace hone
