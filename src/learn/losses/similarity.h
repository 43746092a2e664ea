// Similarities and distances of rows of embeddings.
#pragma once

#include <string>

#include "engine/ops/ops.h"

namespace hone {

ValueId scalar(Builder& b, double value);  // f32[]
// x [R,E] with rows of length 1; a row of zeros stays zeros, without a gradient.
ValueId unit_rows(Builder& b, ValueId x);
ValueId cosine_of_rows(Builder& b, ValueId x, ValueId y);  // [R,E] twice -> [R]
// 1 - cosine, or the length of x - y + apart ("euclidean", or "manhattan": the sum of magnitudes).
ValueId distance_of_rows(Builder& b, ValueId x, ValueId y, const std::string& kind,
                         double apart = 0);
// scale * the sum of the values [R] of the rows with weight 1.
ValueId sum_of_rows(Builder& b, ValueId values, ValueId weight, ValueId scale);

}  // namespace hone
