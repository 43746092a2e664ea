// Confidence intervals of a metric by the bootstrap (Efron 1979; for BLEU: Koehn, "Statistical Significance Tests for
// Machine Translation Evaluation", EMNLP 2004). A sample draws n of n examples with replacement. The metric is
// computed for each sample; with the confidence 0.95, the interval goes from percentile 2.5 to 97.5 of these values.
#pragma once

#include "learn/metrics/metric.h"

namespace hone {

struct BootstrapOptions {
  int64_t samples = 1000;
  uint64_t seed = 42;
  double confidence = 0.95;
};

// Draws one sample: sets times[i] to the number of times that example i is in it. The result depends only on the seed,
// the number `sample` and times.size() (the Philox generator).
void draw_examples(uint64_t seed, uint64_t sample, std::span<int32_t> times);
// The percentile `share` (0 to 1) of values in ascending order, with numpy's linear interpolation; NaN without values.
double percentile_of_sorted(const std::vector<double>& sorted, double share);

struct Interval {
  std::string name;
  double low = 0, high = 0;
};

// One interval for each element of metric.values(), by percentile_of_sorted(). The metric must be made with
// MetricOptions::keep_examples. Samples come from draw_examples(), so two systems on the same examples can be compared
// sample by sample. Samples whose value is NaN are skipped; `low` and `high` are NaN if all are. Errors: those of
// Metric::values().
Result<std::vector<Interval>> bootstrap(const Metric& metric, const BootstrapOptions& options = {});

}  // namespace hone
