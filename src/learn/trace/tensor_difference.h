// The difference of a tensor in two files.
#pragma once

#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

struct TensorDifference {
  std::string name;
  double relative = 0;   // largest difference / largest magnitude; infinite for NaN or other counts
  double magnitude = 0;  // largest magnitude in the first file
  std::vector<int64_t> index = {};  // where the largest difference is
  double first = 0, second = 0;     // the values there
  std::string shapes = "";          // both, if the counts of elements differ
};

// The tensor is in both files. Magnitudes below `floor` count as `floor`. Errors: those of reading.
Result<TensorDifference> compare_tensors(const WeightSource& a, const WeightSource& b,
                                         const std::string& name, double floor);

// The names of a file in the order of its metadata entry `order`; those it leaves out come after
// them.
std::vector<std::string> names_in_order(const WeightSource& file);

}  // namespace hone
