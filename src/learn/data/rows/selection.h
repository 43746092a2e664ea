// Computes how many rows of a file a run uses: the share kept for validation, a limit, a fraction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// The number n of rows for validation: `percentage` % of `rows`, rounded to the nearest whole number (halves are
// rounded to even, as in Python). Rows [0, n) are for validation, [n, rows) for training, as train[:p%] and train[p%:]
// in run_clm. Errors: H2115 the percentage is not between 0 and 100.
Result<int64_t> validation_rows(int64_t rows, double percentage);
// validation_rows() for a run without a validation file. Appends to `notes` a sentence for the log. `training`: the run
// also trains.
// Errors: H2115 the percentage is not between 0 and 100, or no row is left for validation or for training.
Result<int64_t> keep_for_validation(int64_t rows, double percentage, bool training,
                                    std::vector<std::string>& notes);
// The number n of rows to use: `fraction` of `rows`, rounded as above, but at most `max_samples` (negative: no limit).
// The run uses rows [0, n). Errors: H2115 the fraction is not in (0, 1], or n is 0 although `rows` is not.
Result<int64_t> selected_rows(int64_t rows, int64_t max_samples, double fraction);

}  // namespace hone
