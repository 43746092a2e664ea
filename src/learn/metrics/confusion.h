// Counts of (predicted class, true class): the basis of accuracy, F1 and Matthews' correlation.
// Memory: a counter for each pair of classes that occurs; with keep_examples 4 bytes an example.
#pragma once

#include <map>
#include <vector>

#include "learn/metrics/metric.h"

namespace hone {

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

// A metric of labels is a function of a Confusion.
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
  std::vector<int32_t> examples_;                         // the cell of each
};

}  // namespace hone
