// Similarities and distances of rows of embeddings.
#pragma once

#include <string>

#include "engine/ops/ops.h"

namespace hone {

// R: rows of a batch, E: width of an embedding. All values are f32.

ValueId scalar(Builder& b, double value);  // a constant, []
// Divides each row of x [R,E] by its Euclidean length. A row of zeros stays zeros and has no gradient.
ValueId unit_rows(Builder& b, ValueId x);
// The cosine of each row of x [R,E] and the same row of y [R,E]: [R].
ValueId cosine_of_rows(Builder& b, ValueId x, ValueId y);
// The distance of each row of x [R,E] and the same row of y [R,E]: [R]. `kind` is "cosine": 1 - cosine. "euclidean" or
// "manhattan": the Euclidean length, or the sum of magnitudes, of x - y + apart. `apart` is added to each number.
ValueId distance_of_rows(Builder& b, ValueId x, ValueId y, const std::string& kind,
                         double apart = 0);
// scale * sum of values[i] * weight[i], an f32[]. values, weight: [R]; scale: [].
ValueId sum_of_rows(Builder& b, ValueId values, ValueId weight, ValueId scale);

}  // namespace hone
