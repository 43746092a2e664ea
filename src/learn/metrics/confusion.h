// Counts of (predicted class, true class), from which accuracy, F1 and Matthews' correlation are computed. Memory: a
// counter for each pair of classes that occurs, and, with keep_examples, 4 bytes for each example.
#pragma once

#include <map>
#include <vector>

#include "learn/metrics/metric.h"

namespace hone {

// Counts for one class. predicted: examples whose prediction is the class. expected: examples whose reference is the
// class. right: examples whose prediction and reference are both the class.
struct ClassCounts {
  int64_t predicted = 0, expected = 0, right = 0;
};

class Confusion {
 public:
  void add(int64_t prediction, int64_t reference, int64_t times = 1);
  int64_t total() const { return total_; }
  int64_t right() const { return right_; }
  const std::map<int64_t, ClassCounts>& classes() const { return classes_; }

 private:
  std::map<int64_t, ClassCounts> classes_;
  int64_t total_ = 0, right_ = 0;
};

// Base class of the metrics of labels. Such a metric is a function of a Confusion.
class LabelMetric : public Metric {
 public:
  explicit LabelMetric(const MetricOptions& options) : keep_(options.keep_examples) {}
  void add_label(int64_t prediction, int64_t reference) final;
  int64_t examples() const final { return confusion_.total(); }
  Result<MetricValues> values() const final { return values_of(confusion_); }
  Result<MetricValues> values_of(std::span<const int32_t> times) const final;

 private:
  virtual Result<MetricValues> values_of(const Confusion& c) const = 0;

  bool keep_;
  Confusion confusion_;
  std::map<std::pair<int64_t, int64_t>, int32_t> cells_;  // (prediction, reference) -> its number
  std::vector<int32_t> examples_;  // each example's number in cells_; only with keep_examples
};

}  // namespace hone
