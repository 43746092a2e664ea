// Writes training images, as the model gets them, into files that a person can look at.
#pragma once

#include "learn/data/images/image_rows.h"
#include "learn/tasks/image_classification_settings.h"

namespace hone {

// Writes at most `count` training rows, spread evenly over all rows, into the folder check_samples of output_dir. The
// file samples.jsonl there has an object for each row with the keys image (name of the row's file), label, and epoch_0,
// epoch_1 and epoch_2 (names of PNG files). The PNG files show the pixels of the row in the first three epochs of a run
// with the same settings, before mixup and cutmix. With --aug_repeats the run draws other random changes, so the PNG
// files are only examples. Existing files of the same names are replaced. Rows that cannot be decoded are left out.
// `names`: names of the classes. Returns a sentence for the user; "": nothing was written, because output_dir is not
// set, `count` is 0 or no row could be decoded. Errors: those of the store.
Result<std::string> write_image_samples(const ImageClassificationSettings& s,
                                        const TrainingSizes& sizes, const ImageRows& rows,
                                        const std::vector<std::string>& names, int64_t count);

}  // namespace hone
