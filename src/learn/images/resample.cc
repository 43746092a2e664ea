#include "learn/images/resample.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "learn/images/resample_rows.h"

namespace hone {
namespace {

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

// Half the width of the filter at scale 1, in input pixels.
double support_of(Filter filter) {
  switch (filter) {
    case Filter::box:
      return 0.5;
    case Filter::bilinear:
    case Filter::hamming:
      return 1;
    case Filter::bicubic:
      return 2;
    case Filter::lanczos:
      return 3;
  }
  return 0;
}

double weight_at(Filter filter, double x) {
  if (filter == Filter::box) return x > -0.5 && x <= 0.5 ? 1 : 0;
  x = std::abs(x);
  switch (filter) {
    case Filter::bilinear:
      return x < 1 ? 1 - x : 0;
    case Filter::hamming:
      if (x == 0) return 1;
      return x < 1 ? sinc(x) * (0.54 + 0.46 * std::cos(x * std::numbers::pi)) : 0;
    case Filter::bicubic: {  // Keys 1981, a = -0.5
      constexpr double a = -0.5;
      if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
      return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
    }
    default:
      return x < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
}

// The input pixels of an output pixel of one axis.
struct Support {
  double scale, filter_scale, support;
  int64_t in;

  Support(Filter filter, int64_t in_size, int64_t out_size)
      : scale(static_cast<double>(in_size) / static_cast<double>(out_size)),
        filter_scale(std::max(scale, 1.0)),
        support(support_of(filter) * filter_scale),
        in(in_size) {}
  double center(int64_t out) const { return (static_cast<double>(out) + 0.5) * scale; }
  int64_t begin(int64_t out) const {
    return std::max<int64_t>(static_cast<int64_t>(center(out) - support + 0.5), 0);
  }
  int64_t end(int64_t out) const {
    return std::min(static_cast<int64_t>(center(out) + support + 0.5), in);
  }
};

// Weights of outputs [begin, end); first input pixels count from `from`.
void find_weights(Filter filter, int64_t in, int64_t out, int64_t begin, int64_t end, int64_t from,
                  ResampleMemory::Weights& to) {
  const Support s(filter, in, out);
  to.most = static_cast<int64_t>(std::ceil(s.support)) * 2 + 1;
  const auto outputs = static_cast<size_t>(end - begin);
  to.first.resize(outputs), to.count.resize(outputs);
  to.weights.resize(outputs * static_cast<size_t>(to.most));
  std::vector<double> weights(static_cast<size_t>(to.most));
  for (size_t i = 0; i < outputs; ++i) {
    const int64_t at = begin + static_cast<int64_t>(i), first = s.begin(at);
    const auto count = static_cast<size_t>(s.end(at) - first);
    double sum = 0;
    for (size_t k = 0; k < count; ++k) {
      const double x = static_cast<double>(first + static_cast<int64_t>(k)) - s.center(at) + 0.5;
      sum += weights[k] = weight_at(filter, x / s.filter_scale);
    }
    int32_t* integers = to.weights.data() + i * static_cast<size_t>(to.most);
    for (size_t k = 0; k < count; ++k) {
      const double share = (sum == 0 ? weights[k] : weights[k] / sum) * (1 << cpu::kWeightBits);
      integers[k] = static_cast<int32_t>(share < 0 ? share - 0.5 : share + 0.5);
    }
    to.first[i] = static_cast<int32_t>(first - from);
    to.count[i] = static_cast<int32_t>(count);
  }
}

// Pillow 13 sums columns before rows if the height shrinks by more than twice as many pixels as the width.
bool columns_first(const Resize& r) {
  return r.in_height > r.out_height && 2 * (r.in_width - r.out_width) < r.in_height - r.out_height;
}

// Sums of the rows of `from`, from row `first` on.
void sum_rows(const Image& from, int64_t first, const ResampleMemory::Weights& by, Image& to) {
  for (int64_t y = 0; y < to.height; ++y)
    cpu::resample_row(from.row(first + y), to.row(y), to.width, by.first.data(), by.count.data(),
                      by.weights.data(), by.most);
}

// Sums of columns of to.width pixels, whose rows are `width` pixels apart.
void sum_columns(const uint8_t* from, int64_t width, const ResampleMemory::Weights& by, Image& to) {
  for (int64_t y = 0; y < to.height; ++y)
    cpu::resample_column(from + by.first[static_cast<size_t>(y)] * width * 4, width * 4, to.row(y),
                         to.width * 4, by.count[static_cast<size_t>(y)],
                         by.weights.data() + y * by.most);
}

}  // namespace

std::vector<std::string> filter_names() {
  return {"box", "bilinear", "hamming", "bicubic", "lanczos"};
}
std::string name_of(Filter filter) { return filter_names()[static_cast<size_t>(filter)]; }
Filter filter_of(const std::string& name) {
  const std::vector<std::string> names = filter_names();
  const auto at = std::find(names.begin(), names.end(), name);
  HONE_BUG_IF(at == names.end(), "no filter '{}'", name);
  return static_cast<Filter>(at - names.begin());
}

Box input_box(const Resize& r) {
  const Support x(r.filter, r.in_width, r.out_width), y(r.filter, r.in_height, r.out_height);
  const int64_t left = x.begin(r.window.x), right = x.end(r.window.x + r.window.width - 1),
                top = y.begin(r.window.y), bottom = y.end(r.window.y + r.window.height - 1);
  return {left, top, right - left, bottom - top};
}

void resample(const Image& part, const Box& at, const Resize& r, Image& to,
              ResampleMemory& memory) {
  const Box needed = input_box(r);
  HONE_BUG_IF(part.width != at.width || part.height != at.height || needed.x < at.x ||
                  needed.y < at.y || needed.x + needed.width > at.x + at.width ||
                  needed.y + needed.height > at.y + at.height,
              "a resize reads pixels that are not there");
  const Box& w = r.window;
  const bool down_first = columns_first(r);
  find_weights(r.filter, r.in_width, r.out_width, w.x, w.x + w.width, down_first ? needed.x : at.x,
               memory.across);
  find_weights(r.filter, r.in_height, r.out_height, w.y, w.y + w.height,
               down_first ? at.y : needed.y, memory.down);
  to.resize(w.width, w.height);
  if (down_first) {
    memory.rows.resize(needed.width, w.height);
    sum_columns(part.row(0) + (needed.x - at.x) * 4, part.width, memory.down, memory.rows);
    sum_rows(memory.rows, 0, memory.across, to);
  } else {
    memory.rows.resize(w.width, needed.height);
    sum_rows(part, needed.y - at.y, memory.across, memory.rows);
    sum_columns(memory.rows.row(0), w.width, memory.down, to);
  }
}

}  // namespace hone
