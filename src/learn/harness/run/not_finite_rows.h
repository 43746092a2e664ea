// Finds the rows of the user's data that caused a NaN or infinite value.
#pragma once

#include "engine/session/not_finite.h"
#include "learn/harness/examples.h"

namespace hone {

// The rows of a micro-batch whose part of the value `found` is not finite, as indices into rows.rows.rows. An
// activation has along its first axis the tokens of the rows, one row after another, or one element for each sequence;
// the size of the first axis decides which. All rows are returned if the size fits neither or both, or if the value
// may be the gradient of a weight. `weights`: sizes of the first axes of all weights.
std::vector<size_t> rows_that_hold(const NotFinite& found, const CollatedRows& rows,
                                   const BatchShape& shape, std::span<const int64_t> weights);

// The place of each row in the data: "train.csv:7"; "row 12 of the training rows" if the file is unknown, as with
// prepared shards. At most five entries: of more rows, the last entry is "and 3 rows more". `which`: indices into
// rows.rows.rows.
std::vector<std::string> places_of(const CollatedRows& rows, std::span<const size_t> which);

}  // namespace hone
