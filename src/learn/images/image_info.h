// The facts that the header of an image file states.
#pragma once

#include "learn/images/image.h"

namespace hone {

enum class ImageCoding { jpeg, png, webp };

struct ImageInfo {
  ImageCoding coding = ImageCoding::jpeg;
  // The size as it is stored. width() and height() are the size after the orientation is applied.
  int64_t stored_width = 0, stored_height = 0;
  int orientation = kUpright;  // an EXIF orientation (image.h)

  int64_t width() const { return swaps_sides(orientation) ? stored_height : stored_width; }
  int64_t height() const { return swaps_sides(orientation) ? stored_width : stored_height; }
};

}  // namespace hone
