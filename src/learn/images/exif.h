// Reads the orientation of an image from its metadata. The values are those of EXIF (image.h).
#pragma once

#include <string_view>

namespace hone {

// The orientation in EXIF data, a TIFF structure without the prefix "Exif\0\0". 1 if there is none, or the data is
// damaged.
int exif_orientation(std::string_view tiff);
// The orientation in XMP data (the attribute or element tiff:Orientation). 1 if there is none.
int xmp_orientation(std::string_view xml);

}  // namespace hone
