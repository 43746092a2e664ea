// Decodes JPEG, PNG and WebP files into pixels. The result equals that of Pillow's convert("RGB"): alpha is dropped,
// palettes are resolved, and CMYK values are inverted, since Adobe writes them inverted. An animation gives its first
// frame. Colours of 16 bits keep their upper 8 bits. In 16-bit grey images, values above 255 become 255.
#pragma once

#include <string>
#include <string_view>

#include "base/core/error.h"
#include "learn/images/image_info.h"

namespace hone {

struct DecodeLimits {
  // An image with more pixels gives the error H2962; Pillow raises DecompressionBombError for it.
  int64_t most_pixels = 178956970;
  // true: turn the image upright by its EXIF orientation, as the `datasets` library does.
  bool apply_orientation = true;
};

// Scratch memory. Use it again for later calls, but only by one thread at a time.
struct DecodeMemory {
  Image stored;
};

// Reads the header of a file, and allocates no memory for pixels. Errors: H2960 the file has none of these formats;
// H2961 the header is damaged; H2962 the image has more pixels than the limit.
Result<ImageInfo> read_image_info(std::string_view bytes, const DecodeLimits& limits = {});

// Decodes at least the part `box` of the upright image into `part`. Returns the part of the upright image that was
// decoded. `info` comes from read_image_info. Only the blocks of a JPEG around the box are decoded; the pixels equal
// those of decoding the whole image. Errors: H2961 the image is damaged or cut short.
Result<Box> decode_part(std::string_view bytes, const ImageInfo& info, const Box& box, Image& part,
                        DecodeMemory& memory);
// Decodes the whole image, upright. Errors: H2960, H2961, H2962 as above.
Result<Image> decode_image(std::string_view bytes, const DecodeLimits& limits = {});

}  // namespace hone
