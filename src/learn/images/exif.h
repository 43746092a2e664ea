// The orientation of an image in its metadata.
#pragma once

#include <string_view>

namespace hone {

// The orientation in EXIF, a TIFF structure without the prefix "Exif\0\0"; 1 if it names none, or is damaged.
int exif_orientation(std::string_view tiff);
// The orientation in XMP (the attribute or element tiff:Orientation); 1 if it names none.
int xmp_orientation(std::string_view xml);

}  // namespace hone
