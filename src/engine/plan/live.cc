#include "engine/plan/live.h"

#include <algorithm>
#include <bit>

#include "base/core/error.h"

namespace hone {

LiveBytes::LiveBytes(int32_t nodes)
    : nodes_(nodes),
      leaves_(static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(std::max(nodes, 1))))),
      all_(static_cast<size_t>(2 * leaves_), 0),
      most_(all_) {}

void LiveBytes::add(int32_t first, int32_t last, int64_t bytes) {
  first = std::max(first, 0);
  last = std::min(last, nodes_ - 1);
  if (first > last) return;
  const auto add_to = [&](int32_t at) {
    all_[static_cast<size_t>(at)] += bytes;
    most_[static_cast<size_t>(at)] += bytes;
  };
  const auto update_above = [&](int32_t at) {
    for (at /= 2; at >= 1; at /= 2) {
      const auto i = static_cast<size_t>(at);
      most_[i] = std::max(most_[2 * i], most_[2 * i + 1]) + all_[i];
    }
  };
  const int32_t left = first + leaves_, right = last + leaves_;
  for (int32_t a = left, b = right + 1; a < b; a /= 2, b /= 2) {
    if (a % 2 == 1) add_to(a++);
    if (b % 2 == 1) add_to(--b);
  }
  update_above(left);
  update_above(right);
}

int64_t LiveBytes::at(int32_t node) const {
  HONE_BUG_IF(node < 0 || node >= nodes_, "node {} of {}", node, nodes_);
  int64_t sum = 0;
  for (int32_t i = node + leaves_; i >= 1; i /= 2) sum += all_[static_cast<size_t>(i)];
  return sum;
}

int32_t LiveBytes::where() const {
  size_t i = 1;
  while (i < static_cast<size_t>(leaves_)) i = 2 * i + (most_[2 * i] < most_[2 * i + 1] ? 1 : 0);
  return static_cast<int32_t>(i) - leaves_;
}

}  // namespace hone
