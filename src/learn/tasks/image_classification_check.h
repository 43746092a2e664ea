// Checks the images of image classification, for `hone check`.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/image_classification_settings.h"

namespace hone {

// Lists the images as training does and decodes each one. Adds findings of images that cannot be decoded and of classes
// without training images. Writes samples of the training images (image_samples.h).
RowsReport check_images(const ImageClassificationSettings& s, const CheckRequest& request,
                        Findings& findings);

}  // namespace hone
