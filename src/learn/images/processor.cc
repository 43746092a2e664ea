#include "learn/images/processor.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "learn/images/errors.h"

namespace hone {
namespace {

constexpr int64_t kLargestSide = 1 << 14;

// Types whose numbers these functions compute. True: a size of one number is a square; else it is the shorter side.
struct ProcessorType {
  const char* name;
  bool square;
};
constexpr ProcessorType kTypes[] = {
    {"ViT", true}, {"DeiT", true}, {"ConvNext", false}, {"Bit", false}};

// Keys that decide pixels, and those that do not.
const std::set<std::string> kKnown{"do_resize",
                                   "size",
                                   "resample",
                                   "do_center_crop",
                                   "crop_size",
                                   "do_rescale",
                                   "rescale_factor",
                                   "do_normalize",
                                   "image_mean",
                                   "image_std",
                                   "crop_pct",
                                   "do_convert_rgb",
                                   "image_processor_type",
                                   "feature_extractor_type",
                                   "processor_class",
                                   "return_tensors",
                                   "data_format",
                                   "input_data_format",
                                   "device",
                                   "disable_grouping",
                                   "default_to_square"};
// Keys that change pixels if they are set.
const std::set<std::string> kMustBeUnset{"do_pad", "pad_size", "do_reduce_labels",
                                         "do_flip_channel_order", "rescale_offset"};

class Reader {
 public:
  Reader(const Json& json, const std::string& name) : json_(json), name_(name) {}

  Result<ImageProcessor> read() {
    if (!json_.is_object()) return bad("the file is not an object");
    HONE_TRY(check_keys());
    ImageProcessor p;
    p.json = json_;
    const ProcessorType* type = HONE_TRY(type_of());
    HONE_TRY(read_size(*type, p));
    HONE_TRY(read_numbers(p));
    return p;
  }

 private:
  Error bad(const std::string& why) const {
    return Error(err::kImageProcessor, why)
        .at(name_)
        .todo("correct the file, or remove it and give --image_size");
  }
  bool flag(const char* key, bool otherwise) const {
    const auto at = json_.find(key);
    return at != json_.end() && at->is_boolean() ? at->get<bool>() : otherwise;
  }

  Status check_keys() const {
    for (const auto& [key, value] : json_.items()) {
      const bool unset = value.is_null() || value == false;
      if (kMustBeUnset.contains(key) && !unset)
        return bad(fmt::format("'{}' is not supported", key));
      if (!kMustBeUnset.contains(key) && !kKnown.contains(key) && !unset)
        return bad(fmt::format("hone does not know the key '{}'", key));
    }
    return Ok{};
  }

  Result<const ProcessorType*> type_of() const {
    std::string name;
    for (const char* key : {"feature_extractor_type", "image_processor_type"})
      if (const auto at = json_.find(key); at != json_.end() && at->is_string())
        name = at->get<std::string>();
    if (name.empty()) return &kTypes[0];
    for (const ProcessorType& type : kTypes)
      for (const char* ending :
           {"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"})
        if (name == std::string(type.name) + ending) return &type;
    return bad(fmt::format("image processors of the type '{}' are not supported", name));
  }

  Result<int64_t> side(const Json& value, const char* key) const {
    if (!value.is_number_integer() || value.get<int64_t>() < 1 ||
        value.get<int64_t>() > kLargestSide)
      return bad(fmt::format("'{}' is not a number of pixels from 1 to {}", key, kLargestSide));
    return value.get<int64_t>();
  }
  // {"height": h, "width": w}, or one number.
  Status read_sides(const Json& value, const char* key, ImageProcessor& p) const {
    if (value.is_number()) {
      p.width = p.height = HONE_TRY(side(value, key));
      return Ok{};
    }
    if (!value.is_object() || !value.contains("height") || !value.contains("width") ||
        value.size() != 2)
      return bad(fmt::format("'{}' is neither a number nor height and width", key));
    p.height = HONE_TRY(side(value["height"], key));
    p.width = HONE_TRY(side(value["width"], key));
    return Ok{};
  }

  Status read_size(const ProcessorType& type, ImageProcessor& p) const {
    if (!flag("do_resize", true)) return bad("'do_resize' is false, but images have many sizes");
    const auto size = json_.find("size");
    if (size != json_.end() && !size->is_null()) {
      const bool shorter = size->is_object() && size->contains("shortest_edge");
      if (shorter && size->size() != 1) return bad("'size' has other keys besides shortest_edge");
      if (shorter || (size->is_number() && !type.square))
        p.edge = p.width = p.height =
            HONE_TRY(side(shorter ? (*size)["shortest_edge"] : *size, "size"));
      else
        HONE_TRY(read_sides(*size, "size", p));
    }
    p.resize_width = p.width, p.resize_height = p.height;
    const auto crop = json_.find("crop_size");
    if (!flag("do_center_crop", false) || crop == json_.end() || crop->is_null()) return Ok{};
    return read_sides(*crop, "crop_size", p);
  }

  Result<std::array<double, 3>> three(const char* key, double otherwise) const {
    std::array<double, 3> values{otherwise, otherwise, otherwise};
    const auto at = json_.find(key);
    if (at == json_.end() || at->is_null()) return values;
    const bool list = at->is_array() && at->size() == 3;
    for (size_t i = 0; i < 3; ++i) {
      const Json value = list ? (*at)[i] : *at;
      if (!value.is_number() || !std::isfinite(value.get<double>()))
        return bad(fmt::format("'{}' is not three numbers", key));
      values[i] = value.get<double>();
    }
    return values;
  }

  Status read_numbers(ImageProcessor& p) const {
    p.rescale = 1;
    if (flag("do_rescale", true)) {
      const auto at = json_.find("rescale_factor");
      p.rescale = at == json_.end() || at->is_null() ? 1.0 / 255
                  : at->is_number()                  ? at->get<double>()
                                                     : 0;
      if (!std::isfinite(p.rescale) || p.rescale <= 0)
        return bad("'rescale_factor' is not a positive number");
    }
    if (!flag("do_normalize", true)) return Ok{};
    p.mean = HONE_TRY(three("image_mean", 0.5));
    p.std = HONE_TRY(three("image_std", 0.5));
    for (const double s : p.std)
      if (s <= 0) return bad("'image_std' has a number that is not positive");
    return Ok{};
  }

  const Json& json_;
  const std::string& name_;
};

}  // namespace

ImageProcessor::Table ImageProcessor::table() const {
  Table t;
  const bool by_255 = std::abs(rescale * 255 - 1) < 1e-12;
  for (size_t c = 0; c < 3; ++c)
    for (size_t i = 0; i < 256; ++i) {
      const auto byte = static_cast<float>(i);
      const float x = by_255 ? byte / 255.0f : byte * static_cast<float>(rescale);
      t[c][i] = (x - static_cast<float>(mean[c])) / static_cast<float>(std[c]);
    }
  return t;
}

void ImageProcessor::set_size(int64_t size) {
  width = height = resize_width = resize_height = size;
  if (edge > 0) edge = size;
  const Json square{{"height", size}, {"width", size}};
  json["size"] = edge > 0 ? Json{{"shortest_edge", size}} : square;
  if (json.contains("crop_size")) json["crop_size"] = square;
}

Result<ImageProcessor> read_processor(const Json& json, const std::string& name) {
  return Reader(json, name).read();
}

ImageProcessor make_processor(const std::string& type, int64_t size, bool imagenet) {
  Json json{{"image_processor_type", type},
            {"do_resize", true},
            {"resample", 2},
            {"do_rescale", true},
            {"rescale_factor", 0.00392156862745098},
            {"do_normalize", true},
            {"image_mean", {0.5, 0.5, 0.5}},
            {"image_std", {0.5, 0.5, 0.5}}};
  if (imagenet)
    json["image_mean"] = {0.485, 0.456, 0.406}, json["image_std"] = {0.229, 0.224, 0.225};
  if (type.starts_with("ConvNext"))
    json["size"] = {{"shortest_edge", size}}, json["crop_pct"] = 1.0;
  else
    json["size"] = {{"height", size}, {"width", size}};
  auto made = read_processor(json, kProcessorFile);
  HONE_BUG_IF(!made.ok(), "{}", made.error().text());
  return std::move(*made);
}

}  // namespace hone
