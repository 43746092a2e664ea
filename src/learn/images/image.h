// An image in memory, and the cheap ways to change one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

// A part of an image, in pixels.
struct Box {
  int64_t x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Box&) const = default;
};

// Pixels in rows from the top: red, green, blue, and a byte without meaning. Four bytes a pixel are the
// unit of the SIMD kernels and of libjpeg-turbo.
struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels;  // [height, width, 4]

  // Keeps the memory of a larger image. The pixels have any value.
  void resize(int64_t new_width, int64_t new_height);
  uint8_t* row(int64_t y) { return pixels.data() + static_cast<size_t>(y * width * 4); }
  const uint8_t* row(int64_t y) const { return pixels.data() + static_cast<size_t>(y * width * 4); }
  Box box() const { return {0, 0, width, height}; }
};

// EXIF's tag Orientation (CIPA DC-008): how the stored rows must be turned to be seen upright. 1: they are;
// 2 mirrored, 3 by 180 degrees, 4 upside down, 5 to 8 with width and height exchanged.
constexpr int kUpright = 1;
bool swaps_sides(int orientation);
// The part of the stored image of this size that is `box` of the upright one.
Box stored_box(const Box& box, int orientation, int64_t stored_width, int64_t stored_height);
// Turns a stored image, or a part of it, upright. `to` is another image.
void make_upright(const Image& from, int orientation, Image& to);

void flip_left_right(Image& image);
// The part of `from` as an image of its own; pixels outside `from` are black.
void copy_box(const Image& from, const Box& box, Image& to);

}  // namespace hone
