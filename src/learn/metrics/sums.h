// Sums of doubles that keep the rounding error in a second double (Knuth's two-sum, Dekker's two-product), so that the
// order of the summands does not change the rounded result in practice.
#pragma once

#include <cmath>
#include <cstdint>

namespace hone {

// A sum with about 106 bits of precision: high + low.
class ExactSum {
 public:
  void add(double x) {
    const double sum = high_ + x, back = sum - high_;
    low_ += (high_ - (sum - back)) + (x - back);
    high_ = sum;
  }
  void add_product(double x, double y) {
    const double product = x * y;
    add(product);
    low_ += std::fma(x, y, -product);
  }
  double value() const { return high_ + low_; }
  double high() const { return high_; }
  double low() const { return low_; }

 private:
  double high_ = 0, low_ = 0;
};

}  // namespace hone
