#include "operate/reporters/value_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/core/threads.h"

namespace hone {
namespace {

constexpr int64_t kHistogramChunk = 16384;  // values that are summed up in order

// Finds the range of a float without a search: floats with equal upper 16 bits differ by less than
// a hundredth, so they are in one range or in two.
struct HistogramRanges {
  std::vector<double> limits;   // upper, rising
  std::vector<uint16_t> first;  // by upper 16 bits: the lowest range that they reach

  HistogramRanges() : first(1 << 16) {
    std::vector<double> positive;
    for (double v = 1e-12; v < 1e20; v *= 1.1) positive.push_back(v);
    positive.push_back(std::numeric_limits<double>::max());
    for (auto v = positive.rbegin(); v != positive.rend(); ++v) limits.push_back(-*v);
    limits.push_back(0);
    limits.insert(limits.end(), positive.begin(), positive.end());
    for (uint32_t i = 0; i < first.size(); ++i) {
      const auto lowest = std::bit_cast<float>(i << 16 | (i >> 15 != 0 ? 0xffffu : 0u));
      if (std::isfinite(lowest)) first[i] = static_cast<uint16_t>(search(lowest));
    }
  }
  size_t search(double v) const {
    return static_cast<size_t>(std::upper_bound(limits.begin(), limits.end(), v) - limits.begin());
  }
  size_t of(float v) const {
    size_t at = first[std::bit_cast<uint32_t>(v) >> 16];
    while (v >= limits[at]) ++at;
    return at;
  }
};

const HistogramRanges& histogram_ranges() {
  static const HistogramRanges ranges;
  return ranges;
}

template <class T>
T value_at(std::span<const std::byte> values, int64_t i) {
  T x;
  std::memcpy(&x, values.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return x;
}

}  // namespace

ValueHistogram::ValueHistogram() : counts_(histogram_ranges().limits.size()) {}

bool ValueHistogram::counts(DType t) {
  return t == DType::f32 || t == DType::bf16 || t == DType::f16;
}

void ValueHistogram::Sums::add(const Sums& more) {
  num += more.num;
  not_finite += more.not_finite;
  min = std::min(min, more.min);
  max = std::max(max, more.max);
  sum += more.sum;
  squares += more.squares;
}

template <class Read>
void ValueHistogram::add_values(int64_t count, ThreadPool& pool, Read read) {
  const HistogramRanges& ranges = histogram_ranges();
  const int64_t chunks = (count + kHistogramChunk - 1) / kHistogramChunk;
  std::vector<Sums> sums(static_cast<size_t>(chunks));
  std::vector<std::vector<int64_t>> counts(static_cast<size_t>(pool.size()));
  pool.parallel_for(chunks, [&](int64_t begin, int64_t end, int thread) {
    std::vector<int64_t>& mine = counts[static_cast<size_t>(thread)];
    mine.resize(counts_.size());
    for (int64_t c = begin; c < end; ++c) {
      Sums s;
      const int64_t stop = std::min(count, (c + 1) * kHistogramChunk);
      for (int64_t i = c * kHistogramChunk; i < stop; ++i) {
        const float v = read(i);
        if (!std::isfinite(v)) {
          ++s.not_finite;
          continue;
        }
        const double x = v;
        ++s.num;
        s.min = std::min(s.min, x);
        s.max = std::max(s.max, x);
        s.sum += x;
        s.squares += x * x;
        ++mine[ranges.of(v)];
      }
      sums[static_cast<size_t>(c)] = s;
    }
  });
  for (const Sums& s : sums) all_.add(s);
  for (const std::vector<int64_t>& mine : counts)
    for (size_t i = 0; i < mine.size(); ++i) counts_[i] += mine[i];
}

void ValueHistogram::add(DType dtype, std::span<const std::byte> values, ThreadPool& pool) {
  HONE_BUG_IF(!counts(dtype), "a histogram of {}", name_of(dtype));
  const int64_t count = static_cast<int64_t>(values.size()) / size_of(dtype);
  if (dtype == DType::f32)
    add_values(count, pool, [=](int64_t i) { return value_at<float>(values, i); });
  else if (dtype == DType::bf16)
    add_values(count, pool, [=](int64_t i) { return bf16_to_f32(value_at<uint16_t>(values, i)); });
  else
    add_values(count, pool, [=](int64_t i) { return f16_to_f32(value_at<uint16_t>(values, i)); });
}

std::vector<std::pair<double, int64_t>> ValueHistogram::buckets() const {
  const std::vector<double>& limits = histogram_ranges().limits;
  std::vector<std::pair<double, int64_t>> all;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0 && !all.empty() && all.back().second == 0)
      all.back().first = limits[i];
    else
      all.emplace_back(limits[i], counts_[i]);
  }
  return all;
}

}  // namespace hone
