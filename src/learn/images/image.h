// An image in memory, and its simple operations: turning upright, flipping, copying a part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

// A part of an image, in pixels; x and y count from the left and the top.
struct Box {
  int64_t x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Box&) const = default;
};

// An image of four bytes a pixel: red, green, blue, and an unused byte, since SIMD kernels and libjpeg-turbo work on
// four bytes. Rows go from top to bottom.
struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels;  // [height, width, 4]; the vector may be longer after a resize()

  // Changes the size. Afterwards the pixels have unspecified values. The memory is never made smaller.
  void resize(int64_t new_width, int64_t new_height);
  uint8_t* row(int64_t y) { return pixels.data() + static_cast<size_t>(y * width * 4); }
  const uint8_t* row(int64_t y) const { return pixels.data() + static_cast<size_t>(y * width * 4); }
  Box box() const { return {0, 0, width, height}; }
};

// Orientations are the values of EXIF's tag Orientation (CIPA DC-008). They say how the stored image differs from the
// upright one: 1 not at all; 2 mirrored left to right; 3 rotated by 180 degrees; 4 mirrored top to bottom; 5 to 8 with
// width and height exchanged (5 transposed, 7 transposed along the other diagonal; 6 and 8 rotated by 90 degrees).
constexpr int kUpright = 1;
bool swaps_sides(int orientation);  // true for the orientations 5 to 8
// The part of the stored image that becomes `box` of the upright image.
Box stored_box(const Box& box, int orientation, int64_t stored_width, int64_t stored_height);
// Turns a stored image, or a part of it, upright. `to` must not be `from`.
void make_upright(const Image& from, int orientation, Image& to);

void flip_left_right(Image& image);
// Copies a part of `from` to `to`. The box may extend beyond `from`; pixels outside are black.
void copy_box(const Image& from, const Box& box, Image& to);

}  // namespace hone
