// Files from pixels.
#pragma once

#include <string>

#include "learn/images/image.h"

namespace hone {

// A PNG of 8 bits a colour, without the fourth byte. The image is not empty.
std::string encode_png(const Image& from);

}  // namespace hone
