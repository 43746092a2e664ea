// Progressive resizing: the size of training images changes with the epoch (--image_size_by_epoch).
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

class ImageSizes {
 public:
  // `words`: texts of the form "EPOCH:PIXELS", in ascending order of their epochs, which count from 0. From epoch EPOCH
  // until the epoch of the next word, images have PIXELS pixels a side. Before the epoch of the first word they have
  // `usual` pixels a side. No words: all epochs have one size. Errors: H0203 a word does not have this form, or its
  // epoch is not later than that of the word before.
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
