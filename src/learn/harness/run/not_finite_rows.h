// Finds the rows of the user's data that a value comes from which is not finite.
#pragma once

#include "engine/session/not_finite.h"
#include "learn/harness/examples.h"

namespace hone {

// The rows of a micro-batch, as places in rows.rows.rows, whose part of the value is not finite.
// The first axis of an activation is the tokens, one row after another, or the sequences. All rows
// if it is neither: a weight's gradient, or a size that two axes of the shape have. `weights`:
// sizes of the first axis of weights; a gradient of such a size may belong to a weight.
std::vector<size_t> rows_that_hold(const NotFinite& found, const CollatedRows& rows,
                                   const BatchShape& shape, std::span<const int64_t> weights);

// "train.csv:7" for each; "row 12 of the training rows" if the file is unknown, as with prepared
// shards. With more than five, the last entry is "and 3 rows more".
std::vector<std::string> places_of(const CollatedRows& rows, std::span<const size_t> which);

}  // namespace hone
