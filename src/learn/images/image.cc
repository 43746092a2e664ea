#include "learn/images/image.h"

#include <algorithm>
#include <cstring>

namespace hone {
namespace {

constexpr int64_t kBytes = 4;  // of a pixel

// The place in the stored image of pixel (x, y) of the upright one.
struct Place {
  int64_t x, y;
};
Place stored_place(int64_t x, int64_t y, int orientation, int64_t width, int64_t height) {
  const int64_t right = width - 1, bottom = height - 1;
  switch (orientation) {
    case 2:
      return {right - x, y};
    case 3:
      return {right - x, bottom - y};
    case 4:
      return {x, bottom - y};
    case 5:
      return {y, x};
    case 6:
      return {y, bottom - x};
    case 7:
      return {right - y, bottom - x};
    case 8:
      return {right - y, x};
    default:
      return {x, y};
  }
}

}  // namespace

void Image::resize(int64_t new_width, int64_t new_height) {
  width = new_width, height = new_height;
  const auto bytes = static_cast<size_t>(width * height * kBytes);
  if (pixels.size() < bytes) pixels.resize(bytes);
}

bool swaps_sides(int orientation) { return orientation >= 5; }

Box stored_box(const Box& box, int orientation, int64_t stored_width, int64_t stored_height) {
  const Place a = stored_place(box.x, box.y, orientation, stored_width, stored_height),
              b = stored_place(box.x + box.width - 1, box.y + box.height - 1, orientation,
                               stored_width, stored_height);
  const int64_t x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.x, b.x) - x + 1, std::max(a.y, b.y) - y + 1};
}

void make_upright(const Image& from, int orientation, Image& to) {
  const bool swaps = swaps_sides(orientation);
  to.resize(swaps ? from.height : from.width, swaps ? from.width : from.height);
  for (int64_t y = 0; y < to.height; ++y) {
    uint8_t* out = to.row(y);
    for (int64_t x = 0; x < to.width; ++x, out += kBytes) {
      const Place at = stored_place(x, y, orientation, from.width, from.height);
      std::memcpy(out, from.row(at.y) + at.x * kBytes, kBytes);
    }
  }
}

void flip_left_right(Image& image) {
  for (int64_t y = 0; y < image.height; ++y) {
    uint8_t* row = image.row(y);
    for (int64_t a = 0, b = image.width - 1; a < b; ++a, --b) {
      uint32_t left, right;
      std::memcpy(&left, row + a * kBytes, kBytes);
      std::memcpy(&right, row + b * kBytes, kBytes);
      std::memcpy(row + a * kBytes, &right, kBytes);
      std::memcpy(row + b * kBytes, &left, kBytes);
    }
  }
}

void copy_box(const Image& from, const Box& box, Image& to) {
  to.resize(box.width, box.height);
  const int64_t left = std::clamp<int64_t>(-box.x, 0, box.width),
                right = std::clamp(from.width - box.x, left, box.width);
  for (int64_t y = 0; y < box.height; ++y) {
    uint8_t* out = to.row(y);
    const int64_t at = box.y + y;
    const bool inside = at >= 0 && at < from.height;
    std::memset(out, 0, static_cast<size_t>((inside ? left : box.width) * kBytes));
    if (!inside) continue;
    if (right > left)
      std::memcpy(out + left * kBytes, from.row(at) + (box.x + left) * kBytes,
                  static_cast<size_t>((right - left) * kBytes));
    std::memset(out + right * kBytes, 0, static_cast<size_t>((box.width - right) * kBytes));
  }
}

}  // namespace hone
