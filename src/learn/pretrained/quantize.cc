#include "learn/pretrained/quantize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/core/dynamic_map.h"

namespace hone {
namespace {

constexpr float kLeast = 1e-38f;  // a scale that is divided by

float largest_of(const float* x, int64_t n) {
  float most = 0;
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) {
    most = std::max(most, std::fabs(x[i]));
    finite &= std::fabs(x[i]) <= std::numeric_limits<float>::max();
  }
  return finite ? most : std::numeric_limits<float>::infinity();
}

}  // namespace

BlockQuantizer::BlockQuantizer(const BlockScheme& scheme) : scheme_(scheme) {
  if (scheme.code == nullptr) return;
  std::iota(std::begin(codes_), std::end(codes_), uint8_t{0});
  std::stable_sort(std::begin(codes_), std::end(codes_),
                   [&](uint8_t a, uint8_t b) { return scheme.code[a] < scheme.code[b]; });
  for (int i = 0; i < 15; ++i)
    bounds_[i] = (scheme.code[codes_[i]] + scheme.code[codes_[i + 1]]) / 2;
}

bool BlockQuantizer::quantize(std::span<const float> x, int64_t columns, std::span<uint8_t> payload,
                              std::span<float> scales) const {
  if (scheme_.code != nullptr) return quantize_codes(x, payload, scales);
  bool finite = true;
  for (size_t row = 0; row < scales.size(); ++row) {
    const float* from = x.data() + static_cast<int64_t>(row) * columns;
    auto* to = reinterpret_cast<int8_t*>(payload.data()) + static_cast<int64_t>(row) * columns;
    scales[row] = largest_of(from, columns);
    finite &= std::isfinite(scales[row]);
    const float factor = scales[row] > 0 && std::isfinite(scales[row]) ? 127.0f / scales[row] : 0;
    for (int64_t i = 0; i < columns; ++i)
      to[i] = static_cast<int8_t>(std::nearbyint(from[i] * factor));
  }
  return finite;
}

bool BlockQuantizer::quantize_codes(std::span<const float> x, std::span<uint8_t> payload,
                                    std::span<float> scales) const {
  const auto count = static_cast<int64_t>(x.size());
  bool finite = true;
  for (int64_t begin = 0; begin < count; begin += scheme_.scaled) {
    const int64_t n = std::min(scheme_.scaled, count - begin);
    const float* from = x.data() + begin;
    const float most = largest_of(from, n);
    finite &= std::isfinite(most);
    // A last block that is not full is divided by its scale, others are multiplied by its inverse.
    const bool full = n == scheme_.scaled;
    scales[static_cast<size_t>(begin / scheme_.scaled)] = full ? most : std::max(most, kLeast);
    const float inverse = 1.0f / std::max(most, kLeast);
    uint8_t codes[256];
    for (int64_t i = 0; i < n; ++i) {
      const float ratio = full ? from[i] * inverse : from[i] / std::max(most, kLeast);
      int place = 0;
      for (const float bound : bounds_) place += bound < ratio ? 1 : 0;
      codes[i] = codes_[place];
    }
    for (int64_t i = 0; i < n; i += 2)
      payload[static_cast<size_t>((begin + i) / 2)] =
          static_cast<uint8_t>(codes[i] << 4 | (i + 1 < n ? codes[i + 1] : 0));
  }
  return finite;
}

NestedScales quantize_scales(std::span<const float> scales) {
  NestedScales made;
  const double sum = std::accumulate(scales.begin(), scales.end(), 0.0);
  made.offset = static_cast<float>(sum / static_cast<double>(std::max<size_t>(scales.size(), 1)));
  const std::array<float, 256>& code = dynamic_map(true);
  const auto count = static_cast<int64_t>(scales.size());
  for (int64_t begin = 0; begin < count; begin += kNestedBlock) {
    const auto block = scales.subspan(static_cast<size_t>(begin),
                                      static_cast<size_t>(std::min(kNestedBlock, count - begin)));
    float most = 0;
    for (const float s : block) most = std::max(most, std::fabs(s - made.offset));
    made.nested.push_back(most);
    for (const float s : block) {
      const float ratio = most > 0 ? (s - made.offset) / most : 0;
      const auto above = std::lower_bound(code.begin(), code.end(), ratio);
      auto nearest = static_cast<size_t>(above - code.begin());
      if (nearest == code.size() ||
          (nearest > 0 && ratio - code[nearest - 1] <= code[nearest] - ratio))
        --nearest;
      made.codes.push_back(static_cast<uint8_t>(nearest));
    }
  }
  return made;
}

std::vector<float> widen_scales(const NestedScales& scales) {
  std::vector<float> wide;
  for (size_t i = 0; i < scales.codes.size(); ++i)
    wide.push_back(dynamic_map(true)[scales.codes[i]] *
                       scales.nested[i / static_cast<size_t>(kNestedBlock)] +
                   scales.offset);
  return wide;
}

std::vector<float> widen_matrix(const BlockScheme& scheme, std::span<const uint8_t> payload,
                                std::span<const float> scales, int64_t rows, int64_t columns) {
  std::vector<float> x(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t group = i / static_cast<size_t>(scheme.scaled > 0 ? scheme.scaled : columns);
    if (scheme.code == nullptr)
      x[i] = static_cast<float>(static_cast<int8_t>(payload[i])) * scales[group] * (1.0f / 127);
    else
      x[i] = scheme.code[i % 2 == 0 ? payload[i / 2] >> 4 : payload[i / 2] & 15] * scales[group];
  }
  return x;
}

}  // namespace hone
