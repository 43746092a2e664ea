// Reads arrays of cells in a pickle (learn/pickle): NumPy arrays, Arrow's string arrays, Python lists. The objects are
// views: the pickle must outlive them. `file` is a name for messages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/data/formats/rows.h"
#include "learn/pickle/pickle.h"

namespace hone {

// A sequence of cells, such as a column.
class CellArray {
 public:
  virtual ~CellArray() = default;
  virtual int64_t size() const = 0;
  // Cell i, 0 <= i < size(). Errors: those of cell_of.
  virtual Result<Cell> cell(int64_t i) const = 0;
};

// A NumPy array of at most two dimensions. Its bytes and objects stay in the pickle.
struct Ndarray {
  std::vector<int64_t> shape;
  bool fortran = false;  // Fortran order: elements with neighbouring first indices are adjacent
  // NumPy's dtype.kind: b (bool), i (int), u (unsigned), f (float) or O (object).
  char kind = 'O';
  int64_t bytes = 0;      // of one element; 0 for O
  std::string_view data;  // the elements, for kinds other than O
  PickleValue objects;    // the elements as a list, for kind O
};
bool is_ndarray(const PickleValue& v);
// Reads an array and checks that its data has the size of its shape. Errors: H2701 the sizes differ; H2703 a class,
// dtype or byte order that is not read.
Result<Ndarray> read_ndarray(const PickleValue& v, const std::string& file);

// The cells of row `row` of an array of two dimensions, or of an array of one dimension (row 0). `array` comes from
// read_ndarray, which has checked its size.
std::unique_ptr<CellArray> cells_of(const Ndarray& array, int64_t row, const std::string& file);
// The elements of a list or tuple.
std::unique_ptr<CellArray> cells_of_list(const PickleValue& list, const std::string& file);
// The cells of a pandas extension array: ArrowStringArray, StringArray, and the nullable arrays with a mask
// (IntegerArray, BooleanArray, FloatingArray). Errors: H2701 the data is shorter than its length; H2703 another class.
Result<std::unique_ptr<CellArray>> cells_of_extension(const PickleValue& v,
                                                      const std::string& file);

// The value as a cell. Errors: H2701 a value not in pandas' form; H2703 a class that is not read; H2704 a nested value
// that is too deep or too large; H2108 text that is not UTF-8.
Result<Cell> cell_of(const PickleValue& v, const std::string& file);

// Error H2701: the table is not as pandas writes it; `what` says how.
Error damaged_table(const std::string& file, std::string what);
// Error H2703: the class of `v` is not read.
Error refused_table_class(const std::string& file, const PickleValue& v);

}  // namespace hone
