// Reads preprocessor_config.json: the image size of a model and the normalization of its pixels, by the rules of the
// image processors of Transformers (ViT, DeiT, ConvNeXT, BiT).
#pragma once

#include <array>
#include <string>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

inline constexpr const char* kProcessorFile = "preprocessor_config.json";

struct ImageProcessor {
  Json json = Json::object();         // the whole file
  int64_t width = 224, height = 224;  // the size of the images that the model gets
  // The shorter side after the resize; 0: the size after the resize is resize_width x resize_height.
  int64_t edge = 0;
  int64_t resize_width = 224, resize_height = 224;
  double rescale = 1.0 / 255;  // the factor for byte values; 1: values stay 0 to 255
  std::array<double, 3> mean{0, 0, 0}, std{1, 1, 1};

  // table()[channel][byte]: the value that the model gets for a byte, (byte * rescale - mean) / std.
  using Table = std::array<std::array<float, 256>, 3>;
  Table table() const;
  // Sets the size of the images that the model gets, and the size after the resize, to size x size: nothing is cut off
  // a square image. Changes the JSON too.
  void set_size(int64_t size);
};

// Reads a processor from the JSON of the file `name`. Errors: H2963 the type of the processor is not supported, a key
// is unknown or not supported, or a value is out of range.
Result<ImageProcessor> read_processor(const Json& json, const std::string& name);
// Makes a processor for square images of this size. `type`: "ViTImageProcessor" or "ConvNextImageProcessor".
// `imagenet`: true: mean and standard deviation are those of ImageNet; false: they are 0.5.
ImageProcessor make_processor(const std::string& type, int64_t size, bool imagenet);

}  // namespace hone
