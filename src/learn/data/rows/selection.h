// The number of rows of a file that a run uses: a share kept for validation, a limit, a fraction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// The number of rows that a selection leaves (round is to the nearest, halves to even, as
// Python's). validation_split_percentage p: rows [0, n) are for validation, [n, rows) for training
// (run_clm's train[:p%] and train[p%:]). Errors: H2115 when p is not in 0..100.
Result<int64_t> validation_rows(int64_t rows, double percentage);
// The validation rows of a run without a validation file, with a note for the log. H2115 also if no
// row is left for validation, or, with `training`, for training.
Result<int64_t> keep_for_validation(int64_t rows, double percentage, bool training,
                                    std::vector<std::string>& notes);
// max_*_samples (negative: no limit) and fraction_of_train_data (in (0, 1]) both keep the
// first rows. Errors: H2115.
Result<int64_t> selected_rows(int64_t rows, int64_t max_samples, double fraction);

}  // namespace hone
