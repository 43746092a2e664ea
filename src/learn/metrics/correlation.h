// Pearson's correlation of pairs of numbers, which are added one pair at a time, and ranks for Spearman's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/metrics/sums.h"

namespace hone {

// Sums have about 106 bits, so cancellation loses no more bits than in scipy's two passes over the data.
class Correlation {
 public:
  void add(double x, double y, int64_t times = 1);
  int64_t count() const { return count_; }
  // NaN if all x or all y are equal (as scipy's pearsonr), or if a value is NaN.
  double pearson() const;

 private:
  int64_t count_ = 0;
  double first_x_ = 0, first_y_ = 0;
  bool x_varies_ = false, y_varies_ = false;
  ExactSum x_, y_, xx_, yy_, xy_;
};

// Twice the rank of each values[i], if values[i] occurs times[i] times (`times` empty: once). Ranks begin at 1. Equal
// values get the mean of their ranks, as in scipy's rankdata. The ranks are doubled because such a mean may end in .5.
// `order`: sorted_order(values).
std::vector<int64_t> doubled_ranks(std::span<const double> values, std::span<const int32_t> order,
                                   std::span<const int32_t> times);
// The indices of the values in ascending order of value; equal values by index.
std::vector<int32_t> sorted_order(std::span<const double> values);

}  // namespace hone
