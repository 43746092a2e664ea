// Reads the images and labels of image classification from the data that the flags name.
#pragma once

#include "learn/data/images/image_rows.h"
#include "learn/tasks/image_classification_settings.h"

namespace hone {

struct ImageSplits {
  std::vector<std::string> names;  // names of the classes, by label
  std::optional<ImageRows> train;  // nullopt: the settings do not need training rows
  // `evaluated` rows to evaluate, then `predicted` rows to predict, which have no label. nullopt: neither is needed.
  std::optional<ImageRows> eval;
  int64_t evaluated = 0, predicted = 0;
  int64_t train_rows_read = 0;     // number of training rows before any selection
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
};

// Reads the splits that the settings want. A folder of a split (--train_dir, ...) takes precedence over a data set,
// and a data set takes precedence over files. Images of a folder are sorted by name. If there is no validation set, a
// random part of the training rows becomes the rows to evaluate. Limits such as --max_train_samples choose rows at
// random. These two rules are those of Transformers' example script run_image_classification. Errors: H2101 the
// settings name no images for a split; H2964 a folder of images cannot be used; H2965 a data file has no images; H2122
// the classes differ from those of the checkpoint; those of data_flags.h and selection.h.
Result<ImageSplits> read_image_splits(const ImageClassificationSettings& s,
                                      const Pretrained& model);

}  // namespace hone
