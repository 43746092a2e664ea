#include "engine/plan/offsets.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>

namespace hone {
namespace {

using Order = std::vector<size_t>;

// Places the buffers in the given order, each at the lowest gap that fits among those already
// placed which are alive with it.
int64_t place(const std::vector<Lifetime>& b, const Order& order, std::vector<int64_t>& offsets) {
  int64_t top = 0;
  std::vector<size_t> placed;
  std::vector<std::pair<int64_t, int64_t>> busy;
  for (size_t i : order) {
    busy.clear();
    for (size_t j : placed)
      if (b[j].first <= b[i].last && b[i].first <= b[j].last) busy.push_back({offsets[j], offsets[j] + b[j].bytes});
    std::sort(busy.begin(), busy.end());
    int64_t at = 0, best = -1, best_gap = 0;
    for (auto [from, to] : busy) {
      int64_t gap = from - at;
      if (gap >= b[i].bytes && (best < 0 || gap < best_gap)) {
        best = at;
        best_gap = gap;
      }
      at = std::max(at, to);
    }
    offsets[i] = best >= 0 ? best : at;
    top = std::max(top, offsets[i] + b[i].bytes);
    placed.push_back(i);
  }
  return top;
}

}  // namespace

int64_t most_alive(const std::vector<Lifetime>& buffers, int32_t* at) {
  std::map<int32_t, int64_t> change;
  for (const Lifetime& b : buffers) {
    change[b.first] += b.bytes;
    change[b.last + 1] -= b.bytes;
  }
  int64_t now = 0, most = 0;
  for (auto [node, delta] : change) {
    now += delta;
    if (now > most) {
      most = now;
      if (at) *at = node;
    }
  }
  return most;
}

int64_t assign_offsets(std::vector<Lifetime>& b) {
  Order order(b.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto span = [&](size_t i) { return static_cast<double>(b[i].last - b[i].first + 1); };
  using Less = std::function<bool(size_t, size_t)>;
  const std::array<Less, 4> orders{
      Less([&](size_t x, size_t y) { return std::pair(-b[x].bytes, b[x].first) < std::pair(-b[y].bytes, b[y].first); }),
      Less([&](size_t x, size_t y) { return span(x) > span(y); }),
      Less([&](size_t x, size_t y) { return static_cast<double>(b[x].bytes) * span(x) > static_cast<double>(b[y].bytes) * span(y); }),
      Less([&](size_t x, size_t y) { return std::pair(b[x].first, -b[x].bytes) < std::pair(b[y].first, -b[y].bytes); }),
  };
  const int64_t bound = most_alive(b);
  int64_t best = -1;
  std::vector<int64_t> offsets(b.size()), chosen;
  for (const Less& less : orders) {
    Order o = order;
    std::stable_sort(o.begin(), o.end(), less);
    int64_t top = place(b, o, offsets);
    if (best < 0 || top < best) {
      best = top;
      chosen = offsets;
    }
    if (best == bound) break;
  }
  for (size_t i = 0; i < b.size(); ++i) b[i].offset = chosen[i];
  return std::max<int64_t>(best, 0);
}

}  // namespace hone
