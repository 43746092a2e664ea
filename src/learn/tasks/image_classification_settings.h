// The settings of image classification, for the task and for presets that it is the base of.
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
    // Activation functions and norms are made again: a fifth less memory, about 2 % more time.
    activation_memory_budget = 0.7;
  }
  void bind_own(Schema& schema) { bind(schema); }

  bool mixes() const { return mixup_alpha > 0 || cutmix_alpha > 0; }
  bool has_shares() const { return mixes() || bce_loss; }  // labels are shares of all classes
  bool logs_media() const;                                 // images for TensorBoard
  bool logs_features() const { return logs_media() && log_embeddings > 0; }
  DecodeLimits limits() const { return {.apply_orientation = apply_exif_orientation}; }
  TrainingTransform training(const ImageProcessor& p) const;
  EvaluationTransform evaluation(const ImageProcessor& p) const;
};

// The sizes of training images by epoch, and their processors by ImageSizes::sides(), or the usual one alone. Errors: those
// of ImageSizes and processor_of(), H0203 a usual image that is not square.
struct TrainingSizes {
  ImageSizes sizes;
  std::vector<ImageProcessor> processors;
};
Result<TrainingSizes> training_sizes(const ImageClassificationSettings& s, const Pretrained& model,
                                     const ImageProcessor& usual);

// The processor of the run: that of image_processor_name, of the model's folder, or a new one; with image_size. Errors: H2963,
// those of files; H2302 a size that the model does not read.
Result<ImageProcessor> processor_of(const ImageClassificationSettings& s, const Pretrained& model);

// Image classification with these settings (image_classification.cc).
Task image_classification_task(std::shared_ptr<ImageClassificationSettings> s);

}  // namespace hone
