// Images of requests: their bytes in the forms that clients send, and their pixels.
#pragma once

#include <mutex>
#include <string>

#include "base/core/error.h"
#include "learn/images/augment.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The bytes of an image file: base64 text with or without "data:image/...;base64,", or the file itself, which begins with the marks
// of JPEG, PNG or WebP. H3415: neither.
Result<std::string> image_bytes_of(std::string text);

// Decodes as the evaluation of the model's training does. Several threads may use it at once; large images are decoded one after
// another, so that requests do not fill the memory.
class ServedImages {
 public:
  // Errors: H2963, those of the model's files.
  static Result<std::unique_ptr<ServedImages>> make(const Pretrained& model);
  const ImageProcessor& processor() const { return processor_; }
  // Errors: H2960 to H2962 with the code in the text, for clients; more than kMostPixels are refused before they are decoded.
  Result<Image> decode(const std::string& bytes);

  static constexpr int64_t kMostPixels = int64_t{64} << 20;

 private:
  ImageProcessor processor_;
  EvaluationTransform transform_;
  DecodeLimits limits_;
  std::mutex large_;
};

}  // namespace hone
