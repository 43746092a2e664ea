// Images from the bytes of JPEG, PNG and WebP files, as Pillow's convert("RGB") gives them: alpha is dropped, palettes
// are looked up, CMYK is inverted as Adobe writes it, an animation is its first frame, 16 bits keep the
// upper 8 (of greys: values above 255 become 255).
#pragma once

#include <string>
#include <string_view>

#include "base/core/error.h"
#include "learn/images/image_info.h"

namespace hone {

struct DecodeLimits {
  int64_t most_pixels = 178956970;  // where Pillow raises DecompressionBombError
  bool apply_orientation = true;    // of EXIF, as the `datasets` library does
};

// Memory that calls reuse.
struct DecodeMemory {
  Image stored;
};

// Reads the header; allocates nothing for pixels. Errors: H2960 not one of these formats, H2961 a damaged header, H2962 more
// pixels than the limit.
Result<ImageInfo> read_image_info(std::string_view bytes, const DecodeLimits& limits = {});

// Decodes at least the part `box` of the upright image into `part`, and returns the part's place. Only the blocks
// of a JPEG around the box are decoded; the pixels are those of the whole image. Errors: H2961.
Result<Box> decode_part(std::string_view bytes, const ImageInfo& info, const Box& box, Image& part,
                        DecodeMemory& memory);
// The whole image, upright.
Result<Image> decode_image(std::string_view bytes, const DecodeLimits& limits = {});

}  // namespace hone
