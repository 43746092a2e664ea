#include "learn/images/decode.h"

#include <algorithm>

#include "learn/images/codings.h"
#include "learn/images/errors.h"

namespace hone {
namespace {

constexpr int64_t kMargin = 16;  // whole chroma samples around a part of a JPEG

Result<ImageInfo> read_info(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return read_jpeg_info(bytes);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return read_png_info(bytes);
  if (bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP")
    return read_webp_info(bytes);
  return Error(err::kImageFormat, bytes.empty()
                                      ? "the file is empty"
                                      : "the bytes are not those of a JPEG, PNG or WebP image")
      .todo("convert the file, or remove it");
}

// The box with a margin, within the image.
Box with_margin(const Box& box, int64_t width, int64_t height) {
  const int64_t x = std::max<int64_t>(box.x - kMargin, 0),
                y = std::max<int64_t>(box.y - kMargin, 0);
  return {x, y, std::min(box.x + box.width + kMargin, width) - x,
          std::min(box.y + box.height + kMargin, height) - y};
}

}  // namespace

Result<ImageInfo> read_image_info(std::string_view bytes, const DecodeLimits& limits) {
  ImageInfo info = HONE_TRY(read_info(bytes));
  if (info.stored_width < 1 || info.stored_height < 1) return damaged_image("it has no pixels");
  if (info.stored_width > limits.most_pixels / info.stored_height)
    return Error(err::kImageLimit,
                 fmt::format("an image of {} x {} has more than {} pixels", info.stored_width,
                             info.stored_height, limits.most_pixels))
        .todo("scale the image down, or remove it");
  if (!limits.apply_orientation) info.orientation = kUpright;
  return info;
}

Result<Box> decode_part(std::string_view bytes, const ImageInfo& info, const Box& box, Image& part,
                        DecodeMemory& memory) {
  HONE_BUG_IF(box.x < 0 || box.y < 0 || box.width < 1 || box.height < 1 ||
                  box.x + box.width > info.width() || box.y + box.height > info.height(),
              "a part outside the image");
  const bool turned = info.orientation != kUpright;
  Image& stored = turned ? memory.stored : part;
  const int64_t width = info.stored_width, height = info.stored_height;
  Box at{0, 0, width, height};
  if (info.coding == ImageCoding::jpeg) {
    at = HONE_TRY(decode_jpeg(
        bytes, with_margin(stored_box(box, info.orientation, width, height), width, height),
        stored));
  } else {
    stored.resize(width, height);
    HONE_TRY(info.coding == ImageCoding::png ? decode_png(bytes, stored)
                                             : decode_webp(bytes, stored));
  }
  if (!turned) return at;
  make_upright(stored, info.orientation, part);
  // The place of the part: the corner that its stored box has in the upright image.
  Box upright{0, 0, part.width, part.height};
  const int64_t right = width - at.x - at.width, bottom = height - at.y - at.height;
  const auto place = [&](int64_t x, int64_t y) { upright.x = x, upright.y = y; };
  switch (info.orientation) {
    case 2:
      place(right, at.y);
      break;
    case 3:
      place(right, bottom);
      break;
    case 4:
      place(at.x, bottom);
      break;
    case 5:
      place(at.y, at.x);
      break;
    case 6:
      place(bottom, at.x);
      break;
    case 7:
      place(bottom, right);
      break;
    default:
      place(at.y, right);
  }
  return upright;
}

Result<Image> decode_image(std::string_view bytes, const DecodeLimits& limits) {
  const ImageInfo info = HONE_TRY(read_image_info(bytes, limits));
  Image image;
  DecodeMemory memory;
  HONE_TRY(decode_part(bytes, info, {0, 0, info.width(), info.height()}, image, memory));
  return image;
}

}  // namespace hone
