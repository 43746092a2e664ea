// The decoders of decode.h, by format. Each reads a header, or the part `box` of the stored rows.
#pragma once

#include <string_view>

#include "base/core/error.h"
#include "learn/images/image_info.h"

namespace hone {

Error damaged_image(std::string_view why);     // H2961
Error truncated_image(std::string_view what);  // H2961

Result<ImageInfo> read_jpeg_info(std::string_view bytes);
Result<Box> decode_jpeg(std::string_view bytes, const Box& box, Image& to);

Result<ImageInfo> read_png_info(std::string_view bytes);
Status decode_png(std::string_view bytes, Image& to);

Result<ImageInfo> read_webp_info(std::string_view bytes);
Status decode_webp(std::string_view bytes, Image& to);

}  // namespace hone
