// Finds the rows of the user's data that gave a NaN or infinite value.
#pragma once

#include "engine/session/not_finite.h"
#include "learn/harness/examples.h"

namespace hone {

// The rows of a micro-batch whose part of the value is not finite, as indices of rows.rows.rows.
// The first axis of an activation counts tokens, one row after another, or sequences. If the size
// of the value's first axis fits neither or both, or may be that of a weight's gradient (`weights`:
// sizes of the first axes of weights), all rows are returned.
std::vector<size_t> rows_that_hold(const NotFinite& found, const CollatedRows& rows,
                                   const BatchShape& shape, std::span<const int64_t> weights);

// "train.csv:7" for each; "row 12 of the training rows" if the file is unknown, as with prepared
// shards. With more than five, the last entry is "and 3 rows more".
std::vector<std::string> places_of(const CollatedRows& rows, std::span<const size_t> which);

}  // namespace hone
