#include "learn/pretrained/image_processor.h"

#include "base/store/store.h"
#include "learn/images/errors.h"
#include "learn/models/image_model.h"
#include "learn/models/timm_config.h"
#include "learn/models/torchvision.h"

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
  Json cfg = config.value("pretrained_cfg", Json::object());
  if (!cfg.is_object()) cfg = Json::object();
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

// The evaluation of torchvision's models: resized to 256 pixels for 224, and the middle.
Result<ImageProcessor> processor_of_torchvision(int64_t size, const std::string& name) {
  Json json = make_processor("ConvNextImageProcessor", size, true).json;
  json["crop_pct"] = 224.0 / 256;
  return read_processor(json, name);
}

Result<ImageProcessor> read_or_make(const std::string& other, const Pretrained& model) {
  const ImageForm form = image_form(model.config);
  std::string file;
  if (!other.empty()) {
    file = is_file(other) ? other : processor_beside(other);
    if (file.empty())
      return Error(err::kImageProcessor, fmt::format("'{}' has no {}", other, kProcessorFile))
          .at("--image_processor_name " + other)
          .todo("name a folder that has one, or the file");
  } else if (!model.path.empty()) {
    file = processor_beside(model.path);
  }
  if (!file.empty())
    return read_processor(Json(HONE_TRY(parse_json(HONE_TRY(file_store().read(file)), file))),
                          file);
  if (model.config.timm) return processor_of_timm(*model.config.timm, model.name);
  if (is_timm_layout(model.config) || is_torchvision_layout(model.config))
    return processor_of_torchvision(form.height, model.name);
  const std::string type = family_of(model.config).image_processor;
  return make_processor(type, form.height, type != "ViTImageProcessor");
}

}  // namespace

Result<ImageProcessor> image_processor_of(const Pretrained& model, const std::string& other,
                                          int64_t size) {
  ImageProcessor p = HONE_TRY(read_or_make(other, model));
  if (size > 0) p.set_size(size);
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

}  // namespace hone
