// Reports rows of several texts (text_rows.h) in `hone check`.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/text_rows.h"

namespace hone {

// Counts the rows of a split and their tokens in `report`, and adds a finding of the rows that are cut. `places`:
// place of each row; empty: unknown. `max_length`: the largest number of tokens of a sequence.
void report_text_rows(const std::string& split, const TextRows& rows,
                      std::span<const std::string> places, int64_t max_length, SplitReport& report,
                      Findings& findings);
// Adds a finding of the rows of a split that are cut, and sets rows_cut in `report`. `cut`: number of sequences of
// each row that are cut; empty: unknown.
void tell_cut_rows(const std::string& split, std::span<const int32_t> cut,
                   std::span<const std::string> places, int64_t max_length, SplitReport& report,
                   Findings& findings);
// The sum of the first lengths[0] values, of the next lengths[1] values, and so on. Empty if `values` is empty.
std::vector<int32_t> sums_of_runs(std::span<const int32_t> values,
                                  std::span<const int64_t> lengths);
// Adds the first `most` rows to the samples of the report, each with its first label.
void add_text_samples(const TextRows& rows, int64_t most, RowsReport& report);

}  // namespace hone
