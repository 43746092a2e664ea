// Progressive resizing: the size of training images changes with the epoch (--image_size_by_epoch).
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

class ImageSizes {
 public:
  // `words`: "EPOCH:PIXELS", with epochs from 0 in ascending order; images have PIXELS pixels a side from that epoch
  // on. Epochs before the first word have `usual` pixels a side. No words: all epochs have one size. Errors: H0203 a
  // word does not have this form.
  static Result<ImageSizes> make(const std::vector<std::string>& words, int64_t usual);

  // The different sizes, in pixels a side, ascending. Empty: all epochs have one size.
  const std::vector<int64_t>& sides() const { return sides_; }
  // The index in sides() of the size of an epoch. sides() must not be empty.
  size_t index(int64_t epoch) const;

 private:
  struct From {
    int64_t epoch, side;
  };
  std::vector<From> from_;
  std::vector<int64_t> sides_;
};

}  // namespace hone
