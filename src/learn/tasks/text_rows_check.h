// Rows of several texts in the report of hone check.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/text_rows.h"

namespace hone {

// Counts the rows of a split and their tokens, and tells how many are cut. `places`: of the rows;
// empty: not known.
void report_text_rows(const std::string& split, const TextRows& rows,
                      std::span<const std::string> places, int64_t max_length, SplitReport& report,
                      Findings& findings);
// Tells how many rows of a split are cut, and fills rows_cut. `cut`: sequences of each row; empty:
// not known.
void tell_cut_rows(const std::string& split, std::span<const int32_t> cut,
                   std::span<const std::string> places, int64_t max_length, SplitReport& report,
                   Findings& findings);
// The sum of the first lengths[0] values, of the next lengths[1] ones, and so on; nothing of no
// values.
std::vector<int32_t> sums_of_runs(std::span<const int32_t> values,
                                  std::span<const int64_t> lengths);
// Shows the first rows, at most `most`, each with its first label.
void add_text_samples(const TextRows& rows, int64_t most, RowsReport& report);

}  // namespace hone
