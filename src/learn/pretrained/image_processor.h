// preprocessor_config.json of a model folder.
#pragma once

#include <string>

#include "learn/images/processor.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The processor of a model of images: that of the folder or file `other` ("": the model's own), else timm's pretrained_cfg, else a new
// one for the size of config.json. `size` > 0 replaces the size. Errors: H2963, those of files; a size that the model does not
// read.
Result<ImageProcessor> image_processor_of(const Pretrained& model, const std::string& other = "",
                                          int64_t size = 0);

}  // namespace hone
