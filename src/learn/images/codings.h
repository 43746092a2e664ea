// The decoders for JPEG, PNG and WebP, which decode.h uses. The read functions read the header. The decode functions
// decode the image as it is stored, before its orientation is applied. Errors: H2961 the image is damaged.
#pragma once

#include <string_view>

#include "base/core/error.h"
#include "learn/images/image_info.h"

namespace hone {

Error damaged_image(std::string_view why);  // error H2961 with a reason
// Error H2961: an image in the format `what` is cut short.
Error truncated_image(std::string_view what);

Result<ImageInfo> read_jpeg_info(std::string_view bytes);
// Decodes at least the part `box` of the image into `to`. Returns the part that was decoded.
Result<Box> decode_jpeg(std::string_view bytes, const Box& box, Image& to);

Result<ImageInfo> read_png_info(std::string_view bytes);
// Decodes the whole image. `to` must already have the size of the image.
Status decode_png(std::string_view bytes, Image& to);

Result<ImageInfo> read_webp_info(std::string_view bytes);
// As decode_png.
Status decode_webp(std::string_view bytes, Image& to);

}  // namespace hone
