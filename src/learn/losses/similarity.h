// Similarities and distances of rows of embeddings.
#pragma once

#include <string>

#include "engine/ops/ops.h"

namespace hone {

// R: rows of a batch, E: width of an embedding. All values are f32; the comments give their shapes.

ValueId scalar(Builder& b, double value);  // a constant, []
// Divides each row of x [R,E] by its Euclidean length. A row of zeros stays zeros.
ValueId unit_rows(Builder& b, ValueId x);
// The cosines [R] between row i of x [R,E] and row i of y [R,E].
ValueId cosine_of_rows(Builder& b, ValueId x, ValueId y);
// The distances [R] between row i of x [R,E] and row i of y [R,E]. `kind`:
//   "cosine"      1 - cosine; `apart` has no effect
//   "euclidean"   the Euclidean length of x - y + apart
//   "manhattan"   the sum of the magnitudes of x - y + apart
// `apart` is added to each of the E numbers of x - y.
ValueId distance_of_rows(Builder& b, ValueId x, ValueId y, const std::string& kind,
                         double apart = 0);
// Returns [] = scale * sum over i of values[i] * weight[i]. values, weight: [R]; scale: [].
ValueId sum_of_rows(Builder& b, ValueId values, ValueId weight, ValueId scale);

}  // namespace hone
