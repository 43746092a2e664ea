#include "base/core/dynamic_map.h"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

template <size_t kSize>
std::array<float, kSize> make(int decades, bool is_signed) {
  std::array<float, kSize> map{};
  size_t n = 0;
  map[n++] = 0;
  map[n++] = 1;
  for (int i = 0; i < decades; ++i) {
    const int parts = 1 << (is_signed ? i : i + 1);
    const auto step = static_cast<float>(0.9 / parts);
    const auto edge = [&](int k) {
      // Rounded once, as torch.linspace has them.
      return static_cast<float>(k <= parts / 2
                                    ? static_cast<double>(0.1f) + static_cast<double>(step) * k
                                    : 1.0 - static_cast<double>(step) * (parts - k));
    };
    const auto decade = static_cast<float>(std::pow(10.0, i - (decades - 1)));
    for (int k = 0; k < parts; ++k) {
      map[n++] = decade * ((edge(k) + edge(k + 1)) / 2);
      if (is_signed) map[n] = -map[n - 1], ++n;
    }
  }
  std::sort(map.begin(), map.end());
  return map;
}

// torchao's f32 arithmetic: x takes the upper code if x - below >= (above - below) / 2.
float least_above(float below, float above) {
  const float half = (above - below) * 0.5f;
  float x = below + half;
  while (x - below >= half) x = std::nextafter(x, below);
  while (x - below < half) x = std::nextafter(x, above);
  return x;
}

FourBitMap make_four_bits(bool is_signed) {
  std::array<float, 16> values{};
  for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k + 1) / 16;
  if (is_signed) values = make<16>(3, true);
  FourBitMap map{};
  std::copy(values.begin(), values.end(), map.values);
  for (size_t k = 0; k + 1 < values.size(); ++k)
    map.above[k] = least_above(values[k], values[k + 1]);
  return map;
}

}  // namespace

const std::array<float, 256>& dynamic_map(bool is_signed) {
  static const std::array<float, 256> with_sign = make<256>(7, true), without = make<256>(7, false);
  return is_signed ? with_sign : without;
}

const FourBitMap& four_bit_map(bool is_signed) {
  static const FourBitMap with_sign = make_four_bits(true), without = make_four_bits(false);
  return is_signed ? with_sign : without;
}

}  // namespace hone
