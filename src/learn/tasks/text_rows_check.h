// Reports rows of several texts (text_rows.h) in `hone check`.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/text_rows.h"

namespace hone {

// Sets the numbers of rows and tokens of a split in `report`, and adds a finding if rows are cut. `split`: name of the
// split. `places`: place of each row; empty: unknown. `max_length`: the largest number of tokens of a sequence.
void report_text_rows(const std::string& split, const TextRows& rows,
                      std::span<const std::string> places, int64_t max_length, SplitReport& report,
                      Findings& findings);
// Sets rows_cut in `report`, and adds a finding if rows of the split are cut. `cut`: for each row the number of its
// sequences that are cut; empty: unknown, and rows_cut becomes 0. Other arguments as above.
void tell_cut_rows(const std::string& split, std::span<const int32_t> cut,
                   std::span<const std::string> places, int64_t max_length, SplitReport& report,
                   Findings& findings);
// Returns a list of sums: of the first lengths[0] values, then of the next lengths[1] values, and so on. The list is
// empty if `values` is empty.
std::vector<int32_t> sums_of_runs(std::span<const int32_t> values,
                                  std::span<const int64_t> lengths);
// Adds the first rows, at most `most`, to the samples of the report. A sample has only the first label of its row.
void add_text_samples(const TextRows& rows, int64_t most, RowsReport& report);

}  // namespace hone
