// Encodes an image as a PNG file.
#pragma once

#include <string>

#include "learn/images/image.h"

namespace hone {

// The bytes of a PNG file with 8 bits for each of red, green and blue; the fourth byte of each pixel is ignored. The
// image must not be empty.
std::string encode_png(const Image& from);

}  // namespace hone
