#include "learn/images/codings.h"

#include "learn/images/errors.h"

namespace hone {

Error damaged_image(std::string_view why) {
  return Error(err::kImageDamaged, fmt::format("the image is damaged: {}", why))
      .todo("get the file again from its source, or remove it");
}
Error truncated_image(std::string_view what) {
  return Error(err::kImageDamaged, fmt::format("the {} file is truncated", what))
      .todo("get the file again from its source, or remove it");
}

}  // namespace hone
