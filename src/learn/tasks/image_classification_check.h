// The rows of image classification, and faults of their files.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/image_classification_settings.h"

namespace hone {

// Lists the images as training does and decodes each: images that cannot be read, classes with few images.
RowsReport check_images(const ImageClassificationSettings& s, const CheckRequest& request,
                        Findings& findings);

}  // namespace hone
