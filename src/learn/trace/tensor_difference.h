// Compares the tensors with the same name in two files.
#pragma once

#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

struct TensorDifference {
  std::string name;
  // Largest absolute difference / `magnitude`. Infinite if a value is NaN in one file only, or if the tensors have
  // different numbers of elements.
  double relative = 0;
  double magnitude = 0;             // largest finite absolute value in the first file
  std::vector<int64_t> index = {};  // of the element with the largest difference
  double first = 0, second = 0;     // this element's values in the two files
  std::string shapes = "";  // "[2,3] and [4]" if the numbers of elements differ; "": they are equal
};

// Compares the tensor `name`, which must be in both files; values are converted to f64. `relative` divides by `floor`
// if the magnitude is below `floor`. Errors: those of WeightSource::read.
Result<TensorDifference> compare_tensors(const WeightSource& a, const WeightSource& b,
                                         const std::string& name, double floor);

// The names of all tensors of a file. First the names in its metadata entry "order" (a JSON list, see save_trace),
// then the others in the order of the file.
std::vector<std::string> names_in_order(const WeightSource& file);

}  // namespace hone
