#include "engine/plan/offsets.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>

namespace hone {
namespace {

using Order = std::vector<size_t>;
constexpr int64_t kWork = 30'000'000;  // pairs of buffers that further orders may cost
constexpr int64_t kGoodEnough = 200;   // a 200th of the bound is not worth a try

// A buffer that has its place.
struct Placed {
  int64_t from, to;
  int32_t first, last;
};

// Places the buffers in the given order, each at the smallest gap that fits among those already
// placed which are alive with it.
int64_t place(const std::vector<Lifetime>& b, const Order& order, std::vector<int64_t>& offsets) {
  int64_t top = 0;
  std::vector<Placed> placed;  // by `from`
  placed.reserve(b.size());
  for (size_t i : order) {
    const Lifetime& x = b[i];
    int64_t at = 0, best = -1, best_gap = 0;
    for (const Placed& p : placed) {
      if (p.first > x.last || x.first > p.last) continue;
      const int64_t gap = p.from - at;
      if (gap >= x.bytes && (best < 0 || gap < best_gap)) {
        best = at;
        best_gap = gap;
      }
      at = std::max(at, p.to);
    }
    const int64_t offset = best >= 0 ? best : at;
    offsets[i] = offset;
    top = std::max(top, offset + x.bytes);
    auto where = std::upper_bound(placed.begin(), placed.end(), offset,
                                  [](int64_t o, const Placed& p) { return o < p.from; });
    placed.insert(where, {offset, offset + x.bytes, x.first, x.last});
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
      Less([&](size_t x, size_t y) {
        return std::pair(-b[x].bytes, b[x].first) < std::pair(-b[y].bytes, b[y].first);
      }),
      Less([&](size_t x, size_t y) { return span(x) > span(y); }),
      Less([&](size_t x, size_t y) {
        return static_cast<double>(b[x].bytes) * span(x) >
               static_cast<double>(b[y].bytes) * span(y);
      }),
      Less([&](size_t x, size_t y) {
        return std::pair(b[x].first, -b[x].bytes) < std::pair(b[y].first, -b[y].bytes);
      }),
  };
  const int64_t bound = most_alive(b);
  int64_t best = -1;
  std::vector<int64_t> offsets(b.size()), chosen;
  auto attempt = [&](const Order& o) {
    const int64_t top = place(b, o, offsets);
    if (best < 0 || top < best) {
      best = top;
      chosen = offsets;
    }
    return top;
  };
  Order start;
  for (const Less& less : orders) {
    Order o = order;
    std::stable_sort(o.begin(), o.end(), less);
    const int64_t before = best;
    if (int64_t top = attempt(o); before < 0 || top < before) start = std::move(o);
    if (best == bound) break;
  }
  // What lies highest came too late: it gets its place earlier, at a place drawn from a fixed
  // sequence of numbers, and orders that are not worse are kept.
  Order now = start;
  std::vector<int64_t> now_offsets = chosen;
  int64_t now_top = best;
  uint64_t draw = 1;
  const auto n = static_cast<int64_t>(b.size());
  const int64_t tries = n > 1 ? std::clamp<int64_t>(kWork / (n * n), 8, 4096) : 0;
  for (int64_t t = 0; t < tries && best > bound + bound / kGoodEnough; ++t) {
    size_t highest = 0;
    for (size_t k = 1; k < now.size(); ++k)
      if (now_offsets[now[k]] + b[now[k]].bytes > now_offsets[now[highest]] + b[now[highest]].bytes)
        highest = k;
    draw = draw * 6364136223846793005u + 1442695040888963407u;
    if (highest == 0 || (draw >> 60) == 0) highest = 1 + (draw >> 33) % (now.size() - 1);
    const size_t to = (draw >> 20) % highest;
    Order o = now;
    std::rotate(o.begin() + static_cast<std::ptrdiff_t>(to),
                o.begin() + static_cast<std::ptrdiff_t>(highest),
                o.begin() + static_cast<std::ptrdiff_t>(highest) + 1);
    const int64_t top = attempt(o);
    if (top > now_top + now_top / 64) continue;
    now = std::move(o);
    now_offsets = offsets;
    now_top = top;
  }
  for (size_t i = 0; i < b.size(); ++i) b[i].offset = chosen[i];
  return std::max<int64_t>(best, 0);
}

}  // namespace hone
