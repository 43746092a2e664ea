// Any bytes: an Error, or the same pixels for a part as for the whole image, within a limit of pixels.
#include <cstring>

#include "learn/images/decode.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const DecodeLimits limits{.most_pixels = 1 << 16};
  const auto info = read_image_info(bytes, limits);
  if (!info.ok()) {
    HONE_BUG_IF(info.error().text().empty(), "an error without text");
    return 0;
  }
  HONE_BUG_IF(info->width() * info->height() > limits.most_pixels, "more pixels than the limit");
  Image whole, part;
  DecodeMemory memory;
  const Box all{0, 0, info->width(), info->height()};
  const auto at = decode_part(bytes, *info, all, whole, memory);
  if (at.ok()) HONE_BUG_IF(*at != all || whole.box() != all, "a whole image with another size");
  const Box middle{all.width / 3, all.height / 3, (all.width + 2) / 3, (all.height + 2) / 3};
  const auto place = decode_part(bytes, *info, middle, part, memory);
  if (place.ok())
    HONE_BUG_IF(part.width != place->width || part.height != place->height || place->x > middle.x ||
                    place->y > middle.y || place->x + place->width < middle.x + middle.width ||
                    place->y + place->height < middle.y + middle.height,
                "a part that lacks pixels");
  return 0;
}
