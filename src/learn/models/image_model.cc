#include "learn/models/image_model.h"

#include "learn/models/errors.h"

namespace hone {

bool reads_images(const ModelConfig& c) { return !family_of(c).reads_text; }

ImageForm image_form(const ModelConfig& c) {
  return {c.image_height, c.image_width, c.channels, c.any_image_size};
}

std::vector<std::string> label_names(const ModelConfig& c) {
  std::vector<std::string> names;
  const auto by_id = c.config.find("id2label");
  const bool has_ids = by_id != c.config.end() && by_id->is_object();
  for (int64_t i = 0; i < config_labels(c); ++i) {
    const std::string number = std::to_string(i);
    names.push_back("LABEL_" + number);
    if (has_ids && by_id->contains(number) && (*by_id)[number].is_string())
      names.back() = (*by_id)[number].get<std::string>();
  }
  return names;
}

std::vector<std::pair<std::string, Shape>> moved_statistics(const ModelConfig& c) {
  std::vector<std::pair<std::string, Shape>> all;
  if (c.adapter) return all;
  for (const ParamSpec& p : family_of(c).params(c))
    if (p.moves && !p.shape.empty()) all.emplace_back(p.name, p.shape);
  return all;
}

Status check_image_size(const ModelConfig& c, int64_t height, int64_t width) {
  const ImageForm form = image_form(c);
  if (!form.any_size && (height != form.height || width != form.width))
    return Error(err::kBadConfig,
                 fmt::format("the model reads images of {} x {} pixels, not {} x {}", form.height,
                             form.width, height, width))
        .todo("resize the images to the model's image_size");
  if (std::min(height, width) < c.least_image)
    return Error(err::kBadConfig,
                 fmt::format("the model reads images of at least {} pixels a side, not {} x {}",
                             c.least_image, height, width))
        .todo("enlarge the images");
  return Ok{};
}

Status add_image_inputs(ModelGraph& g, int64_t images, int64_t height, int64_t width) {
  HONE_TRY(check_image_size(g.config, height, width));
  Program& p = g.b.program();
  g.pixels = p.add_input("pixels", {DType::f32, {images, height, width, g.config.channels}});
  if (g.mode != ModelGraph::Mode::train) return Ok{};
  g.image_ids = p.add_input("image_ids", {DType::i64, {images}});
  g.rng = p.add_input("rng", {DType::i64, {2}});
  g.image_count = p.add_input("image_count", {DType::i32, {}});
  return Ok{};
}

}  // namespace hone
