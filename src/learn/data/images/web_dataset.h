// Images in tar archives as WebDataset writes them: files with one stem are a row, `000042.jpg` with `000042.cls`.
#pragma once

#include "learn/data/images/image_folder.h"

namespace hone {

bool is_web_dataset(std::string_view file);  // .tar

// Rows in the order of the archives. The contents of images are read when they are needed, by ranges. The label is the text or
// number in `.cls`, or the member "label" (else "cls") of `.json`; class names are `names` or the sorted labels. With `labelled` false
// there are none. Errors: H2965 a row without an image or a label, H2966, those of label_map.h and the store.
Result<LabelledImages> read_web_dataset(const std::vector<std::string>& files, bool labelled,
                                        const std::vector<std::string>& names = {});

}  // namespace hone
