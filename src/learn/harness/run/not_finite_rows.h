// Finds the rows of the user's data that caused a NaN or infinite value.
#pragma once

#include "engine/session/not_finite.h"
#include "learn/harness/examples.h"

namespace hone {

// Finds the rows of a micro-batch whose part of the value `found` is not finite, as indices into rows.rows.rows. The
// first axis of an activation has one element for each token, one row after another, or one element for each sequence.
// The size of the axis, compared with `shape`, tells which. Returns all rows if the size fits neither or both, if the
// value may be the gradient of a weight, or if the value belongs to no row. `weights`: sizes of the first axes of all
// weights.
std::vector<size_t> rows_that_hold(const NotFinite& found, const CollatedRows& rows,
                                   const BatchShape& shape, std::span<const int64_t> weights);

// The places of rows in the data: "train.csv:7" or, if the file is unknown, as with prepared shards, "row 12 of the
// training rows". Returns at most five entries: if there are more rows, the last entry is "and 3 rows more". `which`:
// indices of the rows into rows.rows.rows.
std::vector<std::string> places_of(const CollatedRows& rows, std::span<const size_t> which);

}  // namespace hone
