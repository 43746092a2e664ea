#include "learn/images/image_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace hone {
namespace {

constexpr int kColours = 3;
using Table = std::array<uint8_t, 256>;
using Histogram = std::array<int64_t, 256>;

template <class Fn>
void for_each_pixel(Image& image, Fn&& fn) {
  uint8_t* p = image.pixels.data();
  for (int64_t i = 0; i < image.width * image.height; ++i, p += 4) fn(p);
}

// Pillow's Image.blend of one value: truncated, and clipped outside [0, 1].
uint8_t blend(int other, int value, float factor) {
  const float mixed = static_cast<float>(other) + factor * static_cast<float>(value - other);
  return mixed <= 0 ? 0 : mixed >= 255 ? 255 : static_cast<uint8_t>(mixed);
}

void apply(Image& image, const std::array<Table, kColours>& tables) {
  for_each_pixel(image, [&](uint8_t* p) {
    for (size_t c = 0; c < kColours; ++c) p[c] = tables[c][p[c]];
  });
}

std::array<Histogram, kColours> histograms(Image& image) {
  std::array<Histogram, kColours> all{};
  for_each_pixel(image, [&](const uint8_t* p) {
    for (size_t c = 0; c < kColours; ++c) ++all[c][p[c]];
  });
  return all;
}

Table stretched(const Histogram& counts) {
  Table table{};
  int low = 0, high = 255;
  while (low < 255 && counts[static_cast<size_t>(low)] == 0) ++low;
  while (high > 0 && counts[static_cast<size_t>(high)] == 0) --high;
  for (int i = 0; i < 256; ++i) {
    double value = i;
    if (high > low) {
      const double scale = 255.0 / (high - low), offset = -low * scale;
      value = std::clamp(std::trunc(i * scale + offset), 0.0, 255.0);
    }
    table[static_cast<size_t>(i)] = static_cast<uint8_t>(value);
  }
  return table;
}

Table evened(const Histogram& counts) {
  Table table{};
  int64_t all = 0, last = 0;
  int used = 0;
  for (const int64_t n : counts) {
    all += n;
    if (n > 0) last = n, ++used;
  }
  const int64_t step = used <= 1 ? 0 : (all - last) / 255;
  int64_t sum = step / 2;
  for (size_t i = 0; i < 256; ++i) {
    table[i] = static_cast<uint8_t>(step == 0 ? static_cast<int64_t>(i)
                                              : std::min<int64_t>(sum / step, 255));
    sum += counts[i];
  }
  return table;
}

struct Hsv {
  uint8_t hue, saturation, value;
};

// Hue by sixths of the circle, as Python's colorsys, in 8 bits.
Hsv to_hsv(const uint8_t* p) {
  const int r = p[0], g = p[1], b = p[2];
  const int most = std::max({r, g, b}), least = std::min({r, g, b});
  if (most == least) return {0, 0, static_cast<uint8_t>(most)};
  const auto range = static_cast<float>(most - least);
  const float s = range / static_cast<float>(most);
  const float rc = static_cast<float>(most - r) / range, gc = static_cast<float>(most - g) / range,
              bc = static_cast<float>(most - b) / range;
  float h;
  if (r == most)
    h = bc - gc;
  else if (g == most)
    h = static_cast<float>(2.0 + static_cast<double>(rc) - static_cast<double>(bc));
  else
    h = static_cast<float>(4.0 + static_cast<double>(gc) - static_cast<double>(rc));
  h = static_cast<float>(std::fmod(static_cast<double>(h) / 6.0 + 1.0, 1.0));
  const auto byte = [](float x) {
    return static_cast<uint8_t>(
        std::clamp(static_cast<int>(static_cast<double>(x) * 255.0), 0, 255));
  };
  return {byte(h), byte(s), static_cast<uint8_t>(most)};
}

void from_hsv(const Hsv& c, uint8_t* p) {
  if (c.saturation == 0) {
    p[0] = p[1] = p[2] = c.value;
    return;
  }
  const double h = c.hue * 6.0 / 255.0;
  const int i = static_cast<int>(std::floor(h));
  const double f = h - i, s = c.saturation / 255.0, v = c.value;
  const auto byte = [](double x) {
    return static_cast<uint8_t>(std::clamp(std::round(x), 0.0, 255.0));
  };
  const uint8_t low = byte(v * (1 - s)), falls = byte(v * (1 - s * f)),
                rises = byte(v * (1 - s * (1 - f))), top = c.value;
  const std::array<std::array<uint8_t, 3>, 6> sixths{{{top, rises, low},
                                                      {falls, top, low},
                                                      {low, top, rises},
                                                      {low, falls, top},
                                                      {rises, low, top},
                                                      {top, low, falls}}};
  std::memcpy(p, sixths[static_cast<size_t>(i % 6)].data(), 3);
}

// 3 x 3 of ones with a 5 in the middle, by 13; the border stays.
void smooth(const Image& from, Image& to) {
  to.resize(from.width, from.height);
  std::memcpy(to.pixels.data(), from.pixels.data(),
              static_cast<size_t>(from.width * from.height * 4));
  for (int64_t y = 1; y + 1 < from.height; ++y) {
    const uint8_t *above = from.row(y - 1), *at = from.row(y), *below = from.row(y + 1);
    uint8_t* out = to.row(y);
    for (int64_t i = 4; i < (from.width - 1) * 4; ++i) {
      const int sum = above[i - 4] + above[i] + above[i + 4] + at[i - 4] + 5 * at[i] + at[i + 4] +
                      below[i - 4] + below[i] + below[i + 4];
      out[i] = static_cast<uint8_t>((2 * sum + 13) / 26);
    }
  }
}

}  // namespace

void change_brightness(Image& image, double factor) {
  Table table{};
  for (int i = 0; i < 256; ++i)
    table[static_cast<size_t>(i)] = blend(0, i, static_cast<float>(factor));
  apply(image, {table, table, table});
}

void change_contrast(Image& image, double factor) {
  int64_t sum = 0;
  for_each_pixel(image, [&](const uint8_t* p) { sum += grey_of(p); });
  const double mean = static_cast<double>(sum) / static_cast<double>(image.width * image.height);
  const int grey = static_cast<int>(mean + 0.5);
  Table table{};
  for (int i = 0; i < 256; ++i)
    table[static_cast<size_t>(i)] = blend(grey, i, static_cast<float>(factor));
  apply(image, {table, table, table});
}

void change_saturation(Image& image, double factor) {
  for_each_pixel(image, [f = static_cast<float>(factor)](uint8_t* p) {
    const uint8_t grey = grey_of(p);
    for (int c = 0; c < kColours; ++c) p[c] = blend(grey, p[c], f);
  });
}

void change_sharpness(Image& image, double factor, Image& memory) {
  smooth(image, memory);
  const uint8_t* other = memory.pixels.data();
  for_each_pixel(image, [&, f = static_cast<float>(factor)](uint8_t* p) {
    for (int c = 0; c < kColours; ++c) p[c] = blend(other[c], p[c], f);
    other += 4;
  });
}

void change_hue(Image& image, double share) {
  // torchvision adds the shift modulo 256.
  const auto shift = static_cast<uint8_t>(static_cast<int>(share * 255));
  for_each_pixel(image, [&](uint8_t* p) {
    Hsv c = to_hsv(p);
    c.hue = static_cast<uint8_t>(c.hue + shift);
    from_hsv(c, p);
  });
}

void posterize(Image& image, int bits) {
  const auto mask = static_cast<uint8_t>(~((1 << (8 - bits)) - 1));
  for_each_pixel(image, [&](uint8_t* p) {
    for (int c = 0; c < kColours; ++c) p[c] &= mask;
  });
}

void solarize(Image& image, int threshold) {
  for_each_pixel(image, [&](uint8_t* p) {
    for (int c = 0; c < kColours; ++c)
      if (p[c] >= threshold) p[c] = static_cast<uint8_t>(255 - p[c]);
  });
}

void autocontrast(Image& image) {
  const auto counts = histograms(image);
  apply(image, {stretched(counts[0]), stretched(counts[1]), stretched(counts[2])});
}

void equalize(Image& image) {
  const auto counts = histograms(image);
  apply(image, {evened(counts[0]), evened(counts[1]), evened(counts[2])});
}

void transform(Image& image, const AffineMap& m, Image& memory) {
  memory.resize(image.width, image.height);
  for (int64_t y = 0; y < image.height; ++y) {
    uint8_t* out = memory.row(y);
    const double dy = static_cast<double>(y) + 0.5;
    for (int64_t x = 0; x < image.width; ++x, out += 4) {
      const double dx = static_cast<double>(x) + 0.5;
      const double u = m[0] * dx + m[1] * dy + m[2], v = m[3] * dx + m[4] * dy + m[5];
      const bool inside = u >= 0 && v >= 0 && u < static_cast<double>(image.width) &&
                          v < static_cast<double>(image.height);
      if (inside)
        std::memcpy(out, image.row(static_cast<int64_t>(v)) + static_cast<int64_t>(u) * 4, 4);
      else
        std::memset(out, 0, 4);
    }
  }
  std::swap(image, memory);
}

AffineMap affine_map(double angle, double translate_x, double translate_y, double shear_x,
                     double shear_y, double center_x, double center_y) {
  constexpr double kDegree = std::numbers::pi / 180;
  const double turn = angle * kDegree, sx = shear_x * kDegree, sy = shear_y * kDegree;
  // The rotation with shears, then its inverse: outputs ask where they come from.
  const double a = std::cos(turn - sy) / std::cos(sy),
               b = -std::cos(turn - sy) * std::tan(sx) / std::cos(sy) - std::sin(turn),
               c = std::sin(turn - sy) / std::cos(sy),
               d = -std::sin(turn - sy) * std::tan(sx) / std::cos(sy) + std::cos(turn);
  AffineMap m{d, -b, 0, -c, a, 0};
  m[2] = m[0] * (-center_x - translate_x) + m[1] * (-center_y - translate_y) + center_x;
  m[5] = m[3] * (-center_x - translate_x) + m[4] * (-center_y - translate_y) + center_y;
  return m;
}

}  // namespace hone
