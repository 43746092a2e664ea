#include "learn/metrics/correlation.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace hone {
namespace {

// n Σab - Σa Σb, from sums of two doubles each.
double covariance(int64_t n, const ExactSum& ab, const ExactSum& a, const ExactSum& b) {
  const auto count = static_cast<double>(n);
  ExactSum sum;
  sum.add_product(count, ab.high());
  sum.add_product(count, ab.low());
  sum.add_product(-a.high(), b.high());
  sum.add_product(-a.high(), b.low());
  sum.add_product(-a.low(), b.high());
  sum.add_product(-a.low(), b.low());
  return sum.value();
}

}  // namespace

void Correlation::add(double x, double y, int64_t times) {
  if (times == 0) return;
  if (count_ == 0) first_x_ = x, first_y_ = y;
  x_varies_ = x_varies_ || x != first_x_;
  y_varies_ = y_varies_ || y != first_y_;
  count_ += times;
  for (int64_t i = 0; i < times; ++i) {
    x_.add(x);
    y_.add(y);
    xx_.add_product(x, x);
    yy_.add_product(y, y);
    xy_.add_product(x, y);
  }
}

double Correlation::pearson() const {
  if (!x_varies_ || !y_varies_) return std::numeric_limits<double>::quiet_NaN();
  const double xx = covariance(count_, xx_, x_, x_), yy = covariance(count_, yy_, y_, y_),
               xy = covariance(count_, xy_, x_, y_);
  const double r = xy / (std::sqrt(xx) * std::sqrt(yy));
  return r > 1 ? 1 : r < -1 ? -1 : r;
}

std::vector<int32_t> sorted_order(std::span<const double> values) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const double x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return x != y ? x < y : a < b;
  });
  return order;
}

std::vector<int64_t> doubled_ranks(std::span<const double> values, std::span<const int32_t> order,
                                   std::span<const int32_t> times) {
  std::vector<int64_t> ranks(values.size());
  int64_t before = 0;
  for (size_t i = 0; i < order.size();) {
    const double value = values[static_cast<size_t>(order[i])];
    size_t end = i;
    int64_t equal = 0;
    for (; end < order.size() && values[static_cast<size_t>(order[end])] == value; ++end)
      equal += times.empty() ? 1 : times[static_cast<size_t>(order[end])];
    for (; i < end; ++i) ranks[static_cast<size_t>(order[i])] = 2 * before + equal + 1;
    before += equal;
  }
  return ranks;
}

}  // namespace hone
