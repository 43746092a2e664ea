// Turns the data flags of image classification into rows of images with labels.
#pragma once

#include "learn/data/images/image_rows.h"
#include "learn/tasks/image_classification_settings.h"

namespace hone {

struct ImageSplits {
  std::vector<std::string> names;  // of the classes, by label
  std::optional<ImageRows> train;
  std::optional<ImageRows> eval;  // the evaluated rows, then those to predict, which have no label
  int64_t evaluated = 0, predicted = 0;
  int64_t train_rows_read = 0;     // before any selection
  std::vector<std::string> notes;  // for the summary of the run, a sentence each
};

// A folder of a split takes precedence over a data set, and this over files. Rows are in the order of sorted
// names; without a validation set a random part of the training rows is kept for it; limits take rows at random, as
// run_image_classification does. Errors: H2101 no images are named, H2964, H2965, H2122 other classes than the checkpoint's, those of data_flags.h and
// selection.h.
Result<ImageSplits> read_image_splits(const ImageClassificationSettings& s,
                                      const Pretrained& model);

}  // namespace hone
