#include "engine/plan/offsets.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>

namespace hone {
namespace {

using Order = std::vector<size_t>;
using Hanging = std::vector<bool>;  // by buffer

// The limit of the search, in pairs of buffers (at most a nanosecond each): a little for the last
// half percent, more while the promise of 2 % is not kept, and then kRounds times more.
constexpr int64_t kPolish = 30'000'000, kRepair = 100'000'000, kTries = 50'000;
constexpr uint64_t kRounds = 8;
constexpr int64_t kGoodEnough = 200, kPromise = 50;  // of the bound: a 200th, a 50th
constexpr int64_t kLooks = 1'000'000;  // after them a good enough order ends the search
constexpr int64_t kPatience = 300;     // tries without a new best, then the search goes back to it

struct Range {
  int64_t from, to;  // bytes
};

// The first and the last node at which one of them is alive.
std::pair<int32_t, int32_t> span_of(const std::vector<Lifetime>& buffers) {
  std::pair<int32_t, int32_t> span{INT32_MAX, INT32_MIN};
  for (const Lifetime& b : buffers)
    span = {std::min(span.first, b.first), std::max(span.second, b.last)};
  return span;
}

// The bytes that are taken during each node: a binary tree over spans of nodes. A value that is
// alive in a whole span is kept there once, so a query looks at a few spans, however many buffers
// there are, and adjacent buffers are one range.
class Timeline {
 public:
  explicit Timeline(const std::vector<Lifetime>& buffers) {
    const auto [first, last] = span_of(buffers);
    first_ = first;
    leaves_ = std::bit_ceil(static_cast<uint32_t>(last - first_ + 1));
    spans_.resize(2 * static_cast<size_t>(leaves_));
  }

  void clear() {
    for (size_t s : used_) {  // their memory is used again
      spans_[s].always.clear();
      spans_[s].sometimes.clear();
    }
    used_.clear();
  }
  void take(const Lifetime& x, Range bytes) {
    visit(x, 1, 0, leaves_, [&](size_t span, bool whole) {
      if (spans_[span].sometimes.empty()) used_.push_back(span);
      insert(spans_[span].sometimes, bytes);
      if (whole) insert(spans_[span].always, bytes);
    });
  }
  // The ranges taken at any node of x's life, from low to high. Some gaps that are too small for x
  // are in them.
  const std::vector<Range>& taken(const Lifetime& x) {
    found_.clear();
    ends_.assign(1, 0);
    visit(x, 1, 0, leaves_, [&](size_t span, bool whole) {
      const std::vector<Range>& more = whole ? spans_[span].sometimes : spans_[span].always;
      if (more.empty()) return;
      found_.insert(found_.end(), more.begin(), more.end());
      ends_.push_back(found_.size());
    });
    looked_at_ += static_cast<int64_t>(found_.size());
    merge_found(std::max<int64_t>(x.bytes, 1));
    return found_;
  }
  int64_t looked_at() const { return looked_at_; }  // ranges and spans so far

 private:
  // found_ has sorted parts, which end where ends_ says: joins two and two until there is one. Gaps
  // below `least` are closed, so the parts become shorter.
  void merge_found(int64_t least) {
    merged_.resize(found_.size());
    while (ends_.size() > 2) {
      size_t parts = 1;
      Range* to = merged_.data();
      for (size_t i = 1; i < ends_.size(); i += 2) {
        const size_t middle = ends_[i], end = ends_[std::min(i + 1, ends_.size() - 1)];
        to = join(&found_[ends_[i - 1]], found_.data() + middle, found_.data() + end, least, to);
        ends_[parts++] = static_cast<size_t>(to - merged_.data());
      }
      ends_.resize(parts);
      found_.swap(merged_);
    }
    found_.resize(ends_.back());
  }

  // The ranges of two sorted parts, which end at `middle` and `end`, with gaps of at least `least`
  // between. Returns the end of the result.
  static Range* join(const Range* a, const Range* middle, const Range* end, int64_t least,
                     Range* to) {
    const Range* b = middle;
    Range now = b == end || (a != middle && a->from <= b->from) ? *a++ : *b++;
    while (a != middle || b != end) {
      const Range& next = b == end || (a != middle && a->from <= b->from) ? *a++ : *b++;
      if (next.from - now.to < least) {
        now.to = std::max(now.to, next.to);
        continue;
      }
      *to++ = now;
      now = next;
    }
    *to++ = now;
    return to;
  }

  struct Span {
    std::vector<Range> always;  // by buffers that live in the whole span, not in the whole parent
    std::vector<Range> sometimes;  // by buffers that live in part of the span, and those
  };

  // Calls f(span, whole) for the spans that hold nodes of x's life and are not below a whole one.
  template <class F>
  void visit(const Lifetime& x, size_t span, int32_t from, int32_t nodes, F&& f) {
    const int32_t begin = first_ + from, end = begin + nodes - 1;
    if (x.last < begin || end < x.first) return;
    ++looked_at_;
    const bool whole = x.first <= begin && end <= x.last;
    f(span, whole);
    if (whole) return;
    visit(x, 2 * span, from, nodes / 2, f);
    visit(x, 2 * span + 1, from + nodes / 2, nodes / 2, f);
  }

  void insert(std::vector<Range>& list, Range r) {
    auto at = std::lower_bound(list.begin(), list.end(), r,
                               [](const Range& a, const Range& b) { return a.to < b.from; });
    auto end = at;
    for (; end != list.end() && end->from <= r.to; ++end)
      r = {std::min(r.from, end->from), std::max(r.to, end->to)};
    looked_at_ += 1 + (end - at);
    if (at == end) {
      list.insert(at, r);
      return;
    }
    *at = r;
    list.erase(at + 1, end);
  }

  int32_t first_ = 0, leaves_ = 1;
  std::vector<Span> spans_;  // 1 the root, 2i and 2i+1 the halves of i
  std::vector<size_t> used_;
  std::vector<Range> found_, merged_;
  std::vector<size_t> ends_;  // of the sorted parts of found_, after a 0
  int64_t looked_at_ = 0;
};

// Placed buffers by their first byte, each a row of four columns.
class Placed {
 public:
  void reserve(size_t rows) {
    from_.reserve(rows), to_.reserve(rows), first_.reserve(rows), last_.reserve(rows);
  }
  void clear() { from_.clear(), to_.clear(), first_.clear(), last_.clear(); }
  void insert(const Lifetime& x, int64_t offset) {
    const auto row = std::upper_bound(from_.begin(), from_.end(), offset) - from_.begin();
    from_.insert(from_.begin() + row, offset);
    to_.insert(to_.begin() + row, offset + x.bytes);
    first_.insert(first_.begin() + row, x.first);
    last_.insert(last_.begin() + row, x.last);
  }
  // Calls f(from, to) for those alive with x, from low to high.
  template <class F>
  void each_alive_with(const Lifetime& x, F&& f) const {
    constexpr size_t kBlock = 16;  // rows that are compared at once
    const size_t rows = from_.size();
    size_t row = 0;
    for (; row + kBlock <= rows; row += kBlock) {
      std::array<uint8_t, kBlock> alive;
      for (size_t k = 0; k < kBlock; ++k)
        alive[k] = static_cast<uint8_t>((first_[row + k] <= x.last) & (x.first <= last_[row + k]));
      for (size_t half = 0; half < kBlock; half += 8) {
        uint64_t bytes = 0;  // 1 for each row that is alive
        std::memcpy(&bytes, &alive[half], 8);
        for (; bytes != 0; bytes &= bytes - 1) {
          const size_t k = row + half + static_cast<size_t>(std::countr_zero(bytes)) / 8;
          f(from_[k], to_[k]);
        }
      }
    }
    for (; row < rows; ++row)
      if (first_[row] <= x.last && x.first <= last_[row]) f(from_[row], to_[row]);
  }

 private:
  std::vector<int64_t> from_, to_;
  std::vector<int32_t> first_, last_;
};

// The first buffers of an order, which were placed before: they get the same places.
struct Known {
  size_t first = 0;                               // their number
  const std::vector<int64_t>* offsets = nullptr;  // by buffer
};

// Places buffers one after the other, each at the smallest gap that fits among those already
// placed which are alive with it, or, if it hangs, as high as it fits below a ceiling.
class Placer {
 public:
  Placer(const std::vector<Lifetime>& buffers, size_t few) : b_(buffers), offsets_(buffers.size()) {
    if (buffers.size() > few)
      timeline_.emplace(buffers);
    else
      placed_.reserve(buffers.size());
  }

  // False when the region would be larger than `limit`; offsets and top are then of no use.
  bool place(const Order& order, int64_t limit, const Known& known = {},
             const Hanging& hanging = {}, int64_t ceiling = 0) {
    placed_.clear();
    if (timeline_) timeline_->clear();
    top_ = 0;
    int64_t before = 0;
    for (size_t i : order) {
      const Lifetime& x = b_[i];
      const int64_t offset = static_cast<size_t>(before) < known.first ? (*known.offsets)[i]
                             : !hanging.empty() && hanging[i]          ? gap_below(ceiling, x)
                                                                       : gap_for(x);
      work_ += before++;
      offsets_[i] = offset;
      top_ = std::max(top_, offset + x.bytes);
      if (top_ > limit) return false;
      put(x, offset);
    }
    return true;
  }

  const std::vector<int64_t>& offsets() const { return offsets_; }
  int64_t top() const { return top_; }
  int64_t work() const { return work_; }  // pairs of a buffer and one placed before it, so far
  int64_t looked_at() const { return timeline_ ? timeline_->looked_at() : work_; }

 private:
  void put(const Lifetime& x, int64_t offset) {
    if (timeline_) {
      timeline_->take(x, {offset, offset + x.bytes});
      return;
    }
    placed_.insert(x, offset);
  }

  // Calls f(from, to) for what is there while x is alive, from low to high.
  template <class F>
  void each_taken(const Lifetime& x, F&& f) {
    if (timeline_) {
      for (const Range& r : timeline_->taken(x)) f(r.from, r.to);
      return;
    }
    placed_.each_alive_with(x, f);
  }

  int64_t gap_for(const Lifetime& x) {
    int64_t at = 0, best = -1, best_gap = 0;
    each_taken(x, [&](int64_t from, int64_t to) {
      const int64_t gap = from - at;
      if (gap >= x.bytes && (best < 0 || gap < best_gap)) {
        best = at;
        best_gap = gap;
      }
      at = std::max(at, to);
    });
    return best >= 0 ? best : at;
  }

  int64_t gap_below(int64_t ceiling, const Lifetime& x) {
    int64_t at = 0, best = -1;
    each_taken(x, [&](int64_t from, int64_t to) {
      if (std::min(from, ceiling) - at >= x.bytes) best = std::min(from, ceiling) - x.bytes;
      at = std::max(at, to);
    });
    if (ceiling - at >= x.bytes) best = ceiling - x.bytes;
    return best >= 0 ? best : at;
  }

  const std::vector<Lifetime>& b_;
  Placed placed_;                     // used without a timeline
  std::optional<Timeline> timeline_;  // if there are many buffers
  std::vector<int64_t> offsets_;
  int64_t top_ = 0, work_ = 0;
};

struct Placement {
  Order order;
  std::vector<int64_t> offsets;
  int64_t top = INT64_MAX;
};

// Sizes of the region at which parts of the search end.
struct Goals {
  Goals(const std::vector<Lifetime>& b, int64_t enough)
      : bound(most_alive(b, &peak)),
        good(bound + bound / kGoodEnough),
        promised(bound + bound / kPromise),
        suffices(std::min(promised, enough)),
        wanted(std::max(promised, enough)) {}

  int32_t peak = 0;  // the fullest node
  int64_t bound;     // nothing is less
  int64_t good;
  int64_t promised;
  int64_t suffices;  // keeps the promise, and less would save nothing
  int64_t wanted;    // above it a long search is worth its time
};

// The best of several plain orders.
Placement first_placement(const std::vector<Lifetime>& b, const Goals& goals, Placer& placer) {
  auto span = [&](size_t i) { return static_cast<double>(b[i].last - b[i].first + 1); };
  auto off_peak = [&](size_t i) { return b[i].first > goals.peak || goals.peak > b[i].last; };
  using Less = std::function<bool(size_t, size_t)>;
  const std::array<Less, 6> orders{
      Less([&](size_t x, size_t y) {
        return std::pair(-b[x].bytes, b[x].first) < std::pair(-b[y].bytes, b[y].first);
      }),
      // The values alive at the fullest node must be without a gap: they come first.
      Less([&](size_t x, size_t y) {
        return std::pair(off_peak(x), -b[x].bytes) < std::pair(off_peak(y), -b[y].bytes);
      }),
      Less([&](size_t x, size_t y) { return span(x) > span(y); }),
      Less([&](size_t x, size_t y) {
        return static_cast<double>(b[x].bytes) * span(x) >
               static_cast<double>(b[y].bytes) * span(y);
      }),
      Less([&](size_t x, size_t y) {
        return std::pair(b[x].first, -b[x].bytes) < std::pair(b[y].first, -b[y].bytes);
      }),
      Less([&](size_t x, size_t y) {
        return std::pair(off_peak(x), -span(x)) < std::pair(off_peak(y), -span(y));
      }),
  };
  Placement best;
  Order order(b.size());
  for (const Less& less : orders) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), less);
    if (placer.place(order, best.top - 1)) best = {order, placer.offsets(), placer.top()};
    const bool long_enough = placer.looked_at() > kLooks;
    if (best.top <= std::max(long_enough ? goals.good : goals.bound, goals.suffices)) break;
  }
  return best;
}

// A fixed sequence of numbers.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  size_t operator()(size_t below) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state_ >> 33) % below;
  }

 private:
  uint64_t state_;
};

// The highest value was placed too late: it is placed earlier, at an index drawn from a fixed
// sequence of numbers, and orders that are hardly worse (a 16th to a 128th) are kept.
void improve(const std::vector<Lifetime>& b, const Goals& goals, Placer& placer, Placement& best) {
  const size_t n = b.size();
  Draw draw(1);
  auto end_of = [&](const Placement& p, size_t k) {
    return p.offsets[p.order[k]] + b[p.order[k]].bytes;
  };
  Placement now = best;
  Order tried;
  int64_t tries = 0, in_vain = 0;
  const int64_t start = placer.work();
  while (n > 1 && best.top > std::max(goals.good, goals.suffices) && ++tries <= kTries) {
    if (placer.work() - start > (best.top > goals.wanted ? kRepair : kPolish)) break;
    if (++in_vain > kPatience) {
      now = best;
      in_vain = 0;
    }
    size_t from = 0;
    for (size_t k = 1; k < n; ++k)
      if (end_of(now, k) > end_of(now, from)) from = k;
    if (from == 0 || draw(16) == 0) from = 1 + draw(n - 1);
    const auto to = static_cast<std::ptrdiff_t>(draw(from));
    tried = now.order;
    std::rotate(tried.begin() + to, tried.begin() + static_cast<std::ptrdiff_t>(from),
                tried.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    if (!placer.place(tried, now.top + now.top / (int64_t{16} << draw(4)),
                      {static_cast<size_t>(to), &now.offsets}))
      continue;
    now.order.swap(tried);
    now.offsets = placer.offsets();
    now.top = placer.top();
    if (now.top >= best.top) continue;
    best = now;
    in_vain = 0;
  }
}

// Longer, for the few sets of lifetimes that improve() leaves beyond the promise: any buffer above
// the goal moves, a moved one may hang from the goal, and of placements with the same top the one
// with less above the goal is better.
void repair(const std::vector<Lifetime>& b, int64_t promised, uint64_t round, Placer& placer,
            Placement& best) {
  const size_t n = b.size();
  int64_t unit = 0;  // all sizes are whole units, and so offsets stay (alignment)
  for (const Lifetime& x : b) unit = std::gcd(unit, x.bytes);
  const int64_t goal = promised / unit * unit, start = placer.work();
  Draw draw(round);
  auto cost = [&](const Placement& p) {
    int64_t above = 0;
    for (size_t i = 0; i < n; ++i)
      above += std::clamp(p.offsets[i] + b[i].bytes - goal, int64_t{0}, b[i].bytes);
    return std::pair(p.top, above);
  };
  Placement now = best, least = best;
  auto least_cost = cost(least);
  Hanging hanging(n), tried_hanging, least_hanging = hanging;
  Order tried, high;
  const auto most_tries = static_cast<int64_t>(std::min<size_t>(2 * kTries, 100 * n * n * n));
  for (int64_t tries = 0, in_vain = 0; least.top > goal && tries < most_tries; ++tries) {
    if (placer.work() - start > kRepair) break;
    if (++in_vain > kPatience) {
      now = least;
      hanging = least_hanging;
      in_vain = 0;
    }
    high.clear();
    for (size_t k = 1; k < n; ++k)
      if (now.offsets[now.order[k]] + b[now.order[k]].bytes > goal) high.push_back(k);
    const size_t from = high.empty() || draw(16) == 0 ? 1 + draw(n - 1) : high[draw(high.size())];
    const auto to = static_cast<std::ptrdiff_t>(draw(from));
    tried = now.order;
    tried_hanging = hanging;
    if (draw(2) == 0) tried_hanging[tried[from]].flip();
    std::rotate(tried.begin() + to, tried.begin() + static_cast<std::ptrdiff_t>(from),
                tried.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    if (!placer.place(tried, now.top + now.top / (int64_t{16} << draw(4)),
                      {static_cast<size_t>(to), &now.offsets}, tried_hanging, goal))
      continue;
    now = {tried, placer.offsets(), placer.top()};
    hanging.swap(tried_hanging);
    if (cost(now) >= least_cost) continue;
    least = now;
    least_cost = cost(now);
    least_hanging = hanging;
    in_vain = 0;
  }
  if (least.top < best.top) best = least;
}

}  // namespace

int64_t most_alive(const std::vector<Lifetime>& buffers, int32_t* at) {
  if (buffers.empty()) return 0;
  const auto [first, last] = span_of(buffers);
  // By node: how many more bytes are alive than at the one before.
  std::vector<int64_t> change(static_cast<size_t>(last - first) + 2);
  for (const Lifetime& b : buffers) {
    change[static_cast<size_t>(b.first - first)] += b.bytes;
    change[static_cast<size_t>(b.last - first) + 1] -= b.bytes;
  }
  int64_t now = 0, most = 0;
  for (size_t i = 0; i < change.size(); ++i) {
    now += change[i];
    if (now > most) {
      most = now;
      if (at) *at = first + static_cast<int32_t>(i);
    }
  }
  return most;
}

namespace {

// Long searches that were done: a run is planned for many choices, of which most programs are
// alike.
class Memory {
 public:
  struct Found {
    std::vector<int64_t> offsets;
    int64_t top = 0, looked_at = 0;
  };
  std::optional<Found> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto at = found_.find(key);
    return at == found_.end() ? std::nullopt : std::optional(at->second);
  }
  void keep(std::string key, Found found) {
    constexpr size_t kMost = 64;
    const std::lock_guard lock(mutex_);
    if (found_.size() == kMost) found_.clear();
    found_.emplace(std::move(key), std::move(found));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Found> found_;
};
constexpr int64_t kLong = 5'000'000;  // pairs of buffers, some milliseconds

std::string key_of(const std::vector<Lifetime>& b, const Search& how) {
  std::vector<int64_t> all{how.enough, static_cast<int64_t>(how.few)};
  for (const Lifetime& x : b) all.insert(all.end(), {x.bytes, x.first, x.last});
  return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(int64_t)};
}

}  // namespace

int64_t assign_offsets(std::vector<Lifetime>& b, Search* search) {
  if (b.empty()) return 0;
  const Search how = search ? *search : Search{};
  static Memory memory;
  std::string key = key_of(b, how);
  std::optional<Memory::Found> found = memory.find(key);
  if (!found) {
    Placer placer(b, how.few);
    const Goals goals(b, how.enough);
    Placement best = first_placement(b, goals, placer);
    improve(b, goals, placer, best);
    for (uint64_t round = 1; best.top > goals.wanted && round <= kRounds; ++round)
      repair(b, goals.promised, round, placer, best);
    found = {std::move(best.offsets), best.top, placer.looked_at()};
    if (placer.work() > kLong) memory.keep(std::move(key), *found);
  }
  for (size_t i = 0; i < b.size(); ++i) b[i].offset = found->offsets[i];
  if (search) search->looked_at = found->looked_at;
  return found->top;
}

}  // namespace hone
