// Training images as an epoch gives them to the model, in files that a person can look at.
#pragma once

#include "learn/data/images/image_rows.h"
#include "learn/tasks/image_classification_settings.h"

namespace hone {

// Writes `count` training rows, spread over all, into check_samples of output_dir: samples.jsonl with the members image,
// label and epoch_0 to epoch_2, which name a PNG each. These are the pixels of the row in the first epochs of a run with the
// same settings, before mixup and cutmix; with --aug_repeats they are examples of them. Files of the same names
// are replaced. Rows that cannot be decoded are left out. `names`: of the classes. Returns a sentence for the user; "": nothing was
// written. Errors: those of the store.
Result<std::string> write_image_samples(const ImageClassificationSettings& s,
                                        const TrainingSizes& sizes, const ImageRows& rows,
                                        const std::vector<std::string>& names, int64_t count);

}  // namespace hone
