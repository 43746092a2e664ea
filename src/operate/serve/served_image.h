// Reads the images of requests: extracts the image file from the text that a client sends, and decodes it to pixels.
#pragma once

#include <mutex>
#include <string>

#include "base/core/error.h"
#include "learn/images/augment.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The bytes of the image file in `text`. `text` is base64, with or without "data:image/...;base64," before it, or the
// file itself, if it begins as JPEG, PNG or WebP files do. Error H3415: the text is neither.
Result<std::string> image_bytes_of(std::string text);

// Decodes images and scales them in the same way as the evaluation in the model's training. Several threads may use one
// object at once. Images with more than 4 Mi pixels are decoded one after another, so that requests do not fill the
// memory.
class ServedImages {
 public:
  // Errors: H2963 hone cannot follow the model's preprocessor_config.json; those of the model's files.
  static Result<std::unique_ptr<ServedImages>> make(const Pretrained& model);
  const ImageProcessor& processor() const { return processor_; }
  // Decodes the image file `bytes`; the result has the size that the model expects. The text of an error begins with
  // the error's code, because clients see only the text. Errors: H2960 the bytes are not an image that hone reads;
  // H2961 the image is damaged; H2962 it has more than kMostPixels pixels (found before it is decoded).
  Result<Image> decode(const std::string& bytes);

  static constexpr int64_t kMostPixels = int64_t{64} << 20;

 private:
  ImageProcessor processor_;
  EvaluationTransform transform_;
  DecodeLimits limits_;
  std::mutex large_;
};

}  // namespace hone
