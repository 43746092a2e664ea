#include "learn/metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/core/philox.h"

namespace hone {

double percentile_of_sorted(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

void draw_examples(uint64_t seed, uint64_t sample, std::span<int32_t> times) {
  PhiloxStream draw(dropout_key(seed, sample, scope_hash("bootstrap")));
  std::fill(times.begin(), times.end(), 0);
  for (size_t i = 0; i < times.size(); ++i) {
    const uint64_t word = static_cast<uint64_t>(draw.next()) << 32 | draw.next();
    __extension__ const auto wide = static_cast<unsigned __int128>(word) * times.size();
    ++times[static_cast<size_t>(wide >> 64)];
  }
}

Result<std::vector<Interval>> bootstrap(const Metric& metric, const BootstrapOptions& options) {
  const auto examples = static_cast<uint64_t>(metric.examples());
  std::vector<Interval> intervals;
  for (const MetricValue& v : HONE_TRY(metric.values())) intervals.push_back({v.name});
  std::vector<std::vector<double>> found(intervals.size());
  std::vector<int32_t> times(examples);
  for (int64_t sample = 0; examples > 0 && sample < options.samples; ++sample) {
    draw_examples(options.seed, static_cast<uint64_t>(sample), times);
    const MetricValues values = HONE_TRY(metric.values_of(times));
    for (size_t k = 0; k < values.size(); ++k) {
      if (!std::isnan(values[k].value)) found[k].push_back(values[k].value);
    }
  }
  const double tail = (1 - options.confidence) / 2;
  for (size_t k = 0; k < intervals.size(); ++k) {
    std::sort(found[k].begin(), found[k].end());
    intervals[k].low = percentile_of_sorted(found[k], tail);
    intervals[k].high = percentile_of_sorted(found[k], 1 - tail);
  }
  return intervals;
}

}  // namespace hone
