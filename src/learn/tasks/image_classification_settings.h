// The settings of image classification, for the task and for the presets based on it.
#pragma once

#include "learn/harness/task.h"
#include "learn/images/augment.h"
#include "learn/images/processor.h"
#include "learn/tasks/image_sizes.h"

namespace hone {

struct ImageClassificationSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/image_classification_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  ImageClassificationSettings() {
    validation_split_percentage = 15;
    // Recomputes activation functions and norms: a fifth less memory, about 2 % more time.
    activation_memory_budget = 0.7;
  }
  void bind_own(Schema& schema) { bind(schema); }

  bool mixes() const { return mixup_alpha > 0 || cutmix_alpha > 0; }  // mixup or cutmix is on
  // True: the label of a training image is a number from 0 to 1 for each class. False: it is one class.
  bool has_shares() const { return mixes() || bce_loss; }
  // Whether images or feature vectors are logged for TensorBoard.
  bool logs_media() const;
  // Whether feature vectors (the inputs of the head) of some evaluated images are logged.
  bool logs_features() const { return logs_media() && log_embeddings > 0; }
  DecodeLimits limits() const { return {.apply_orientation = apply_exif_orientation}; }
  // The transforms of a training image and of an evaluated image, with the sizes of `p`. They do not normalize.
  TrainingTransform training(const ImageProcessor& p) const;
  EvaluationTransform evaluation(const ImageProcessor& p) const;
};

// The sizes of training images by epoch (--image_size_by_epoch).
struct TrainingSizes {
  ImageSizes sizes;
  // One processor for each of sizes.sides(). If sides() is empty, the one processor of all epochs.
  std::vector<ImageProcessor> processors;
};
// The sizes from --image_size_by_epoch. `usual`: the processor of the run (processor_of). Errors: those of ImageSizes
// and processor_of(); H0203 --image_size_by_epoch is set and the images of `usual` are not square.
Result<TrainingSizes> training_sizes(const ImageClassificationSettings& s, const Pretrained& model,
                                     const ImageProcessor& usual);

// The image processor of the run: the one that --image_processor_name names, else the one in the model's folder, else
// a new one of the model family's usual type (image_processor_of). --image_size, if it is set, replaces its size.
// Errors: H2963 hone does not support the preprocessor_config.json; H2302 the model does not accept the size; those of
// reading files.
Result<ImageProcessor> processor_of(const ImageClassificationSettings& s, const Pretrained& model);

// Returns the task "image_classification" with these settings (image_classification.cc).
Task image_classification_task(std::shared_ptr<ImageClassificationSettings> s);

}  // namespace hone
