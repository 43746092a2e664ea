#include "learn/tasks/image_classification_settings.h"

#include <algorithm>

#include "base/settings/errors.h"
#include "learn/models/image_model.h"
#include "learn/pretrained/image_processor.h"

namespace hone {
Result<ImageProcessor> processor_of(const ImageClassificationSettings& s, const Pretrained& model) {
  return image_processor_of(model, s.image_processor_name, s.image_size);
}

Result<TrainingSizes> training_sizes(const ImageClassificationSettings& s, const Pretrained& model,
                                     const ImageProcessor& usual) {
  TrainingSizes out{HONE_TRY(ImageSizes::make(s.image_size_by_epoch, usual.height)), {}};
  if (out.sizes.sides().empty()) {
    out.processors.push_back(usual);
    return out;
  }
  if (usual.height != usual.width)
    return Error(err::kSettingChoice,
                 fmt::format("images of {} x {} pixels have no side", usual.height, usual.width))
        .at("--image_size_by_epoch")
        .todo("leave it out, or give --image_size too");
  for (const int64_t side : out.sizes.sides()) {
    out.processors.push_back(HONE_TRY(image_processor_of(model, s.image_processor_name, side)));
    HONE_TRY(check_image_size(model.config, side, side));
  }
  return out;
}

TrainingTransform ImageClassificationSettings::training(const ImageProcessor& p) const {
  TrainingTransform t;
  t.width = p.width, t.height = p.height;
  t.filter = filter_of(interpolation);
  t.crop = {crop_least_area, crop_most_area, crop_least_ratio, crop_most_ratio};
  if (!random_resized_crop) t.whole = evaluation(p);
  t.flip_probability = random_flip;
  t.jitter = {jitter_brightness, jitter_contrast, jitter_saturation, jitter_hue};
  t.policy = augment_policy == "randaugment"      ? Policy::rand_augment
             : augment_policy == "trivialaugment" ? Policy::trivial_augment
                                                  : Policy::none;
  t.operations = randaugment_operations;
  t.magnitude = randaugment_magnitude;
  t.erasing_probability = random_erasing;
  return t;
}

bool ImageClassificationSettings::logs_media() const {
  const bool reads_them = std::any_of(report_to.begin(), report_to.end(), [](const auto& name) {
    return name == "tensorboard" || name == "all";
  });
  return reads_them && (log_images > 0 || log_embeddings > 0);
}

EvaluationTransform ImageClassificationSettings::evaluation(const ImageProcessor& p) const {
  return evaluation_transform(p, crop_pct, filter_of(interpolation));
}

#define HONE_BIND ImageClassificationSettings::bind
#define HONE_SETTINGS "learn/tasks/image_classification_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
