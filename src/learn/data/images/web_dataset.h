// Reads images from tar archives in the form of the WebDataset library: consecutive files with the same stem are one
// row, such as `000042.jpg` and `000042.cls`.
#pragma once

#include "learn/data/images/image_folder.h"

namespace hone {

bool is_web_dataset(std::string_view file);  // true if the name ends with .tar

// Lists the rows in the order of the archives. Does not read the images; ImageRows::bytes reads each one from its
// archive later. The label is the text or number in the file `.cls`, or in the member "label" (else "cls") of the file
// `.json`. The classes are named by `names`; if it is empty, by the sorted labels. With `labelled` false the rows have
// no labels.
// Errors: H2965 a row without an image or a label; H2966 a damaged archive; those of label_map.h and of the store.
Result<LabelledImages> read_web_dataset(const std::vector<std::string>& files, bool labelled,
                                        const std::vector<std::string>& names = {});

}  // namespace hone
