#include "learn/data/rows/selection.h"

#include <algorithm>
#include <cmath>

#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"

namespace hone {

Result<int64_t> validation_rows(int64_t rows, double percentage) {
  if (!(percentage >= 0 && percentage <= 100)) {
    return Error(
        err::kSplit,
        fmt::format("`validation_split_percentage` {} is not between 0 and 100", percentage));
  }
  return static_cast<int64_t>(std::nearbyint(percentage * static_cast<double>(rows) / 100.0));
}

Result<int64_t> keep_for_validation(int64_t rows, double percentage, bool training,
                                    std::vector<std::string>& notes) {
  const int64_t kept = HONE_TRY(validation_rows(rows, percentage));
  if (kept == 0 || (training && kept == rows))
    return Error(err::kSplit,
                 fmt::format("there is no `validation_file`, and {:g} % of {} leave none to {} on",
                             percentage, count_of(rows, "row"), kept == 0 ? "validate" : "train"))
        .todo("give `validation_file`, or another `validation_split_percentage`");
  notes.push_back(
      fmt::format("there is no `validation_file`: the first {} of {} {} kept for validation",
                  grouped(kept), count_of(rows, "row"), kept == 1 ? "is" : "are"));
  return kept;
}

Result<int64_t> selected_rows(int64_t rows, int64_t max_samples, double fraction) {
  if (!(fraction > 0 && fraction <= 1)) {
    return Error(err::kSplit, fmt::format("`fraction_of_train_data` {} is not in (0, 1]", fraction))
        .todo("1 takes all rows, 0.1 the first tenth");
  }
  int64_t n = static_cast<int64_t>(std::nearbyint(static_cast<double>(rows) * fraction));
  if (max_samples >= 0) n = std::min(n, max_samples);
  if (n == 0 && rows > 0) {
    return Error(err::kSplit,
                 fmt::format("of {} none is left ({} of them, at most {})", count_of(rows, "row"),
                             fraction, max_samples < 0 ? "all" : std::to_string(max_samples)))
        .todo("take more with `max_train_samples`, `max_eval_samples` or `fraction_of_train_data`");
  }
  return n;
}

}  // namespace hone
