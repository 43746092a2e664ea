// Writes training images, as the model gets them, into files that a person can look at.
#pragma once

#include "learn/data/images/image_rows.h"
#include "learn/tasks/image_classification_settings.h"

namespace hone {

// Writes `count` training rows, spread evenly over all rows, into the folder check_samples of output_dir. The file
// samples.jsonl there has an object for each row: image (name of the row's file), label, and epoch_0, epoch_1 and
// epoch_2 (names of PNG files). The PNG files have the pixels of the row in the first three epochs of a run with the
// same settings, before mixup and cutmix; with --aug_repeats they are only examples. Replaces files of the same names.
// Leaves out rows that cannot be decoded. `names`: names of the classes. Returns a sentence for the user; "": nothing
// was written, also because output_dir is not set. Errors: those of the store.
Result<std::string> write_image_samples(const ImageClassificationSettings& s,
                                        const TrainingSizes& sizes, const ImageRows& rows,
                                        const std::vector<std::string>& names, int64_t count);

}  // namespace hone
