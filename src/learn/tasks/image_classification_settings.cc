#include "learn/tasks/image_classification_settings.h"

#include <cmath>

#include "base/store/store.h"
#include "learn/images/errors.h"
#include "learn/models/image_model.h"

namespace hone {
namespace {

// The processor file of a folder, or beside a file of a model; none: "".
std::string processor_beside(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const std::string folder = !is_file(path)               ? path
                             : slash == std::string::npos ? "."
                                                          : path.substr(0, slash);
  const std::string file = folder + "/" + kProcessorFile;
  return path_exists(file) ? file : "";
}

// The numbers of pretrained_cfg in timm's config.json.
Result<ImageProcessor> processor_of_timm(const Json& config, const std::string& name) {
  const Json cfg = config.value("pretrained_cfg", Json::object());
  const Json size = cfg.value("input_size", Json::array({3, 224, 224}));
  if (!size.is_array() || size.size() != 3 || size[1] != size[2])
    return Error(err::kImageProcessor, "'input_size' is not channels, height and an equal width")
        .at(name + ": pretrained_cfg")
        .todo("correct config.json");
  const Json json{{"image_processor_type", "ConvNextImageProcessor"},
                  {"size", {{"shortest_edge", size[1]}}},
                  {"image_mean", cfg.value("mean", Json::array({0.485, 0.456, 0.406}))},
                  {"image_std", cfg.value("std", Json::array({0.229, 0.224, 0.225}))}};
  return read_processor(json, name + ": pretrained_cfg");
}

Result<ImageProcessor> read_or_make(const ImageClassificationSettings& s, const Pretrained& model) {
  const ImageForm form = image_form(model.config);
  std::string file;
  if (!s.image_processor_name.empty()) {
    file = is_file(s.image_processor_name) ? s.image_processor_name
                                           : processor_beside(s.image_processor_name);
    if (file.empty())
      return Error(err::kImageProcessor,
                   fmt::format("'{}' has no {}", s.image_processor_name, kProcessorFile))
          .at("--image_processor_name " + s.image_processor_name)
          .todo("name a folder that has one, or the file");
  } else if (!model.path.empty()) {
    file = processor_beside(model.path);
  }
  if (!file.empty())
    return read_processor(Json(HONE_TRY(parse_json(HONE_TRY(file_store().read(file)), file))),
                          file);
  if (model.config.timm) return processor_of_timm(*model.config.timm, model.name);
  const bool transformer = model.config.family == "vit" || model.config.family == "deit";
  return make_processor(transformer ? "ViTImageProcessor" : "ConvNextImageProcessor", form.height,
                        !transformer);
}

}  // namespace

Result<ImageProcessor> processor_of(const ImageClassificationSettings& s, const Pretrained& model) {
  ImageProcessor p = HONE_TRY(read_or_make(s, model));
  if (s.image_size > 0) p.set_size(s.image_size);
  const ImageForm form = image_form(model.config);
  if (form.channels != 3)
    return Error(err::kImageProcessor,
                 fmt::format("the model reads images of {} channels, hone makes 3", form.channels))
        .at(model.name)
        .todo("use a model with num_channels 3");
  if (!form.any_size && (p.width != form.width || p.height != form.height))
    return Error(
               err::kImageProcessor,
               fmt::format("the model reads images of {} x {} pixels, its processor makes {} x {}",
                           form.width, form.height, p.width, p.height))
        .at(model.name)
        .todo(fmt::format("give --image_size {}", form.height));
  return p;
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

EvaluationTransform ImageClassificationSettings::evaluation(const ImageProcessor& p) const {
  const auto wider = [&](int64_t side) {
    return static_cast<int64_t>(std::floor(static_cast<double>(side) / crop_pct));
  };
  return {p.width,
          p.height,
          wider(p.edge),
          wider(p.resize_width),
          wider(p.resize_height),
          filter_of(interpolation)};
}

#define HONE_BIND ImageClassificationSettings::bind
#define HONE_SETTINGS "learn/tasks/image_classification_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
