#include "base/core/dynamic_map.h"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

std::array<float, 256> make(bool is_signed) {
  std::array<float, 256> map{};
  size_t n = 0;
  map[n++] = 0;
  map[n++] = 1;
  for (int i = 0; i < 7; ++i) {
    const int parts = 1 << (is_signed ? i : i + 1);
    const auto step = static_cast<float>(0.9 / parts);
    const auto edge = [&](int k) {
      // Rounded once, as torch.linspace has them.
      return static_cast<float>(k <= parts / 2
                                    ? static_cast<double>(0.1f) + static_cast<double>(step) * k
                                    : 1.0 - static_cast<double>(step) * (parts - k));
    };
    const auto decade = static_cast<float>(std::pow(10.0, i - 6));
    for (int k = 0; k < parts; ++k) {
      map[n++] = decade * ((edge(k) + edge(k + 1)) / 2);
      if (is_signed) map[n] = -map[n - 1], ++n;
    }
  }
  std::sort(map.begin(), map.end());
  return map;
}

}  // namespace

const std::array<float, 256>& dynamic_map(bool is_signed) {
  static const std::array<float, 256> with_sign = make(true), without = make(false);
  return is_signed ? with_sign : without;
}

}  // namespace hone
