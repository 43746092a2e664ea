// preprocessor_config.json: the size of a model's images and the numbers of its pixels, as the image processors of
// Transformers (ViT, DeiT, ConvNeXT, BiT) read it.
#pragma once

#include <array>
#include <string>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

inline constexpr const char* kProcessorFile = "preprocessor_config.json";

struct ImageProcessor {
  Json json = Json::object();         // whole, as read
  int64_t width = 224, height = 224;  // of the pixels that the model gets
  int64_t edge = 0;  // the shorter side after the resize; 0: it is resize_width x resize_height
  int64_t resize_width = 224, resize_height = 224;
  double rescale = 1.0 / 255;  // 1: values stay 0 ... 255
  std::array<double, 3> mean{0, 0, 0}, std{1, 1, 1};

  // The float of each byte of each channel: (byte * rescale - mean) / std.
  using Table = std::array<std::array<float, 256>, 3>;
  Table table() const;
  // Square images of this size, resized without a margin; the JSON says so too.
  void set_size(int64_t size);
};

// Errors: H2963 for a processor of another type, a key that hone does not know or a value out of range; `name` is the file.
Result<ImageProcessor> read_processor(const Json& json, const std::string& name);
// One for square images of this size. `type`: "ViTImageProcessor" or "ConvNextImageProcessor"; mean and standard deviation are
// 0.5, or those of ImageNet.
ImageProcessor make_processor(const std::string& type, int64_t size, bool imagenet);

}  // namespace hone
