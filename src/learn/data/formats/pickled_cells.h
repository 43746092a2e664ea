// Runs of cells in a pickle: NumPy arrays, Arrow's strings, lists.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/data/formats/rows.h"
#include "learn/pickle/pickle.h"

namespace hone {

// A column, or another run of cells.
class CellArray {
 public:
  virtual ~CellArray() = default;
  virtual int64_t size() const = 0;
  virtual Result<Cell> cell(int64_t i) const = 0;  // 0 <= i < size()
};

// A NumPy array of one or two dimensions; its bytes and objects stay in the pickle.
struct Ndarray {
  std::vector<int64_t> shape;
  bool fortran = false;   // the first dimension varies fastest
  char kind = 'O';        // as in NumPy's dtype: b, i, u, f, O
  int64_t bytes = 0;      // of an element; 0 for O
  std::string_view data;  // of kinds other than O
  PickleValue objects;    // of kind O: a list
};
bool is_ndarray(const PickleValue& v);
Result<Ndarray> read_ndarray(const PickleValue& v, const std::string& file);

// Row `row` of an array of two dimensions, or (row 0) an array of one. `array` is whole: every cell
// is within its data.
std::unique_ptr<CellArray> cells_of(const Ndarray& array, int64_t row, const std::string& file);
std::unique_ptr<CellArray> cells_of_list(const PickleValue& list, const std::string& file);
// pandas' arrays of one column: ArrowStringArray, StringArray, and those with a mask. Errors: H2703,
// H2704, and H2108 for text that is not UTF-8.
Result<std::unique_ptr<CellArray>> cells_of_extension(const PickleValue& v,
                                                      const std::string& file);

Result<Cell> cell_of(const PickleValue& v, const std::string& file);

Error damaged_table(const std::string& file, std::string what);            // H2701
Error refused_table_class(const std::string& file, const PickleValue& v);  // H2703

}  // namespace hone
