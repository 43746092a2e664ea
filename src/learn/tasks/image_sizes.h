// Progressive resizing: other sizes of training images in some epochs, as --image_size_by_epoch says.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

class ImageSizes {
 public:
  // `words`: EPOCH:PIXELS, epochs counted from 0 and ascending. Epochs before the first word have `usual` pixels a
  // side. Errors: H0203.
  static Result<ImageSizes> make(const std::vector<std::string>& words, int64_t usual);

  const std::vector<int64_t>& sides() const {
    return sides_;
  }                                   // ascending; empty: all epochs have one size
  size_t index(int64_t epoch) const;  // in sides()

 private:
  struct From {
    int64_t epoch, side;
  };
  std::vector<From> from_;
  std::vector<int64_t> sides_;
};

}  // namespace hone
