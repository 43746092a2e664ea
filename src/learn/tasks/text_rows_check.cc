#include "learn/tasks/text_rows_check.h"

#include <algorithm>
#include <numeric>

#include "learn/check/row_faults.h"

namespace hone {

void report_text_rows(const std::string& split, const TextRows& rows,
                      std::span<const std::string> places, int64_t max_length, SplitReport& report,
                      Findings& findings) {
  report.rows = report.sequences = rows.rows.size();
  report.counts.tokens_read = rows.rows.tokens();
  tell_cut_rows(split, rows.cut, places, max_length, report, findings);
}

void tell_cut_rows(const std::string& split, std::span<const int32_t> cut,
                   std::span<const std::string> places, int64_t max_length, SplitReport& report,
                   Findings& findings) {
  RowFaults faults;
  for (size_t i = 0; i < cut.size(); ++i)
    if (cut[i] > 0) faults.note(RowFault::kLong, {0, static_cast<int64_t>(i)});
  report.counts.rows_cut = faults.rows(RowFault::kLong);
  faults.tell({split, std::ssize(cut), fmt::format("the {} that are kept", max_length),
               "the rest is cut off: raise --max_seq_length",
               [&](RowPlace row) {
                 return places.empty() ? fmt::format("{} row {}", split, row.line + 1)
                                       : places[static_cast<size_t>(row.line)];
               }},
              findings);
}

std::vector<int32_t> sums_of_runs(std::span<const int32_t> values,
                                  std::span<const int64_t> lengths) {
  std::vector<int32_t> sums;
  if (values.empty()) return sums;
  auto next = values.begin();
  for (const int64_t length : lengths) {
    sums.push_back(std::accumulate(next, next + length, 0));
    next += length;
  }
  return sums;
}

void add_text_samples(const TextRows& rows, int64_t most, RowsReport& report) {
  for (int64_t i = 0; i < std::min(most, rows.rows.size()); ++i) {
    const auto ids = rows.rows.row(i);
    report.samples.push_back(
        {{ids.begin(), ids.end()},
         {},
         rows.labels_of_row > 0 ? fmt::format("{:g}", rows.labels_of(i)[0]) : "",
         {},
         {}});
  }
}

}  // namespace hone
