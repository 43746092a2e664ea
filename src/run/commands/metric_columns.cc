#include "run/commands/metric_columns.h"

#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "operate/registry/policy.h"

namespace hone {
namespace {

// Whether a column of these cells has a mark: its numbers differ.
bool has_mark(const MetricColumns& table, size_t column) {
  std::vector<std::string> texts;
  for (const std::vector<std::string>& row : table.cells)
    if (!row[column].empty()) texts.push_back(row[column]);
  return table.columns[column].best != Column::kNone &&
         std::ranges::any_of(texts, [&](const std::string& t) { return t != texts[0]; });
}

}  // namespace

MetricColumns metric_columns(const std::vector<MeasuredRow>& rows) {
  std::vector<std::pair<std::string, int>> names;  // with their number of rows
  for (const MeasuredRow& row : rows) {
    const auto& m = row.metric;
    if (!m) continue;
    const auto known = std::find_if(names.begin(), names.end(),
                                    [&](const auto& name) { return name.first == m->name; });
    if (known == names.end())
      names.emplace_back(m->name, 1);
    else
      ++known->second;
  }
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  MetricColumns out;
  constexpr size_t kMostColumns = 2;  // more leave no room for anything else
  if (names.size() > kMostColumns) {
    out.columns.push_back({.name = "metric"});
    for (const MeasuredRow& row : rows)
      out.cells.push_back(
          {row.metric ? fmt::format("{} {}", row.metric->name, metric_text(row.metric->value))
                      : ""});
    return out;
  }
  std::vector<std::string> unmarked;
  std::string why;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool lower = lower_is_better(bare_metric(names[i].first));
    const RowsAlike rows_of_all = measured_alike(rows, names[i].first);
    const bool alike = rows_of_all == RowsAlike::kSame;
    if (!alike) {
      unmarked.push_back(names[i].first);
      why = no_best_text(rows_of_all);
    }
    const Column::Best best = lower ? Column::kSmallest : Column::kLargest;
    out.columns.push_back({.name = names[i].first,
                           .kind = Column::kNumber,
                           .priority = static_cast<int>(std::min<size_t>(i, 5)),
                           .best = alike ? best : Column::kNone});
  }
  for (const MeasuredRow& row : rows) {
    out.cells.emplace_back(names.size());
    for (size_t i = 0; i < names.size(); ++i)
      if (const auto value = value_in(row, names[i].first))
        out.cells.back()[i] = metric_text(*value);
  }
  std::vector<std::string> notes;
  for (size_t i = 0; i < names.size() && notes.empty(); ++i)
    if (has_mark(out, i)) notes.emplace_back(kMarkNote);
  if (!unmarked.empty())
    notes.push_back(fmt::format(
        "no best value {}has a mark: {}",
        unmarked.size() < names.size() ? "of " + join(unmarked, " and ") + " " : "", why));
  if (!notes.empty()) out.note = fmt::format("{:<11} {}", "best", join(notes, "; "));
  return out;
}

std::string metric_text(double value) {
  constexpr double kNoDigitsFrom = 1e5, kNoDigitsTo = 1e15;
  const double size = std::abs(value);
  return size >= kNoDigitsFrom && size < kNoDigitsTo ? fmt::format("{:.0f}", value)
                                                     : fmt::format("{:.5g}", value);
}

}  // namespace hone
