// Confidence intervals by the bootstrap (Efron 1979; for BLEU: Koehn, "Statistical Significance
// Tests for Machine Translation Evaluation", EMNLP 2004): each sample draws as many examples as
// there are, with replacement; the interval holds the middle of the samples' values.
#pragma once

#include "learn/metrics/metric.h"

namespace hone {

struct BootstrapOptions {
  int64_t samples = 1000;
  uint64_t seed = 42;
  double confidence = 0.95;
};

// The number of times that each example is in a sample of as many draws as there are examples. It
// follows from the seed (Philox), the sample and the number of examples alone.
void draw_examples(uint64_t seed, uint64_t sample, std::span<int32_t> times);
// With linear interpolation (numpy's); NaN of nothing.
double percentile_of_sorted(const std::vector<double>& sorted, double share);

struct Interval {
  std::string name;
  double low = 0, high = 0;
};

// One interval for each of metric.values(): percentiles with linear interpolation (numpy's). The
// metric must be made with keep_examples. The samples come from draw_examples(), so two systems on
// the same examples can be compared sample by sample. Samples with the value NaN are left out.
// Errors: those of values().
Result<std::vector<Interval>> bootstrap(const Metric& metric, const BootstrapOptions& options = {});

}  // namespace hone
