// Pearson's correlation of pairs of numbers, one pair at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/metrics/sums.h"

namespace hone {

// Sums have about 106 bits, so cancellation loses no more bits than in scipy's two passes. NaN
// without two different values on each side (scipy's pearsonr) or with a NaN.
class Correlation {
 public:
  void add(double x, double y, int64_t times = 1);
  int64_t count() const { return count_; }
  double pearson() const;

 private:
  int64_t count_ = 0;
  double first_x_ = 0, first_y_ = 0;
  bool x_varies_ = false, y_varies_ = false;
  ExactSum x_, y_, xx_, yy_, xy_;
};

// For each place, twice the rank of its value among all values, of which value i occurs times[i]
// times (empty: once). Equal values share the mean of their ranks, as in scipy's rankdata. `order`
// sorts the values.
std::vector<int64_t> doubled_ranks(std::span<const double> values, std::span<const int32_t> order,
                                   std::span<const int32_t> times);
std::vector<int32_t> sorted_order(std::span<const double> values);

}  // namespace hone
