// Finds the image processor of an image model: how an image is resized, cropped and normalized before the model reads
// it. Transformers keeps it in preprocessor_config.json.
#pragma once

#include <string>

#include "learn/images/processor.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The processor of the model. It comes from the first of these that exists:
//   `other`, a preprocessor_config.json or a folder with one; "": the model's own
//   preprocessor_config.json in the model's folder
//   pretrained_cfg in a config.json of timm
//   torchvision's evaluation transform, for weights under timm's or torchvision's names
//   a new processor of the family's usual type, for the image size in config.json
// `size` > 0 replaces the size of the images, in pixels a side. H2963: `other` has no such file, a processor is not
// valid, the model does not read 3 channels, or it does not read images of the processor's size. Errors of reading
// files.
Result<ImageProcessor> image_processor_of(const Pretrained& model, const std::string& other = "",
                                          int64_t size = 0);

}  // namespace hone
