#include "learn/models/timm_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/core/text.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

using nlohmann::json;

struct Resnet {
  const char* name;
  std::array<int64_t, 4> depths;
  bool bottleneck;
};
constexpr Resnet kResnets[] = {{"resnet18", {2, 2, 2, 2}, false},
                               {"resnet34", {3, 4, 6, 3}, false},
                               {"resnet50", {3, 4, 6, 3}, true},
                               {"resnet101", {3, 4, 23, 3}, true},
                               {"resnet152", {3, 8, 36, 3}, true}};

struct Vit {
  const char* name;  // after "vit_" or "deit_", before "_patch16_224"
  int64_t width, layers, heads;
};
constexpr Vit kVits[] = {
    {"tiny", 192, 12, 3}, {"small", 384, 12, 6}, {"base", 768, 12, 12}, {"large", 1024, 24, 16}};

struct Swin {
  const char* name;  // after "swin_", before "_patch4_window7_224"
  int64_t width;
  std::array<int64_t, 4> depths, heads;
};
constexpr Swin kSwins[] = {{"tiny", 96, {2, 2, 6, 2}, {3, 6, 12, 24}},
                           {"small", 96, {2, 2, 18, 2}, {3, 6, 12, 24}},
                           {"base", 128, {2, 2, 18, 2}, {4, 8, 16, 32}},
                           {"large", 192, {2, 2, 18, 2}, {6, 12, 24, 48}}};

struct Convnext {
  const char* name;  // after "convnext_"
  std::array<int64_t, 4> depths, widths;
};
constexpr Convnext kConvnexts[] = {{"tiny", {3, 3, 9, 3}, {96, 192, 384, 768}},
                                   {"small", {3, 3, 27, 3}, {96, 192, 384, 768}},
                                   {"base", {3, 3, 27, 3}, {128, 256, 512, 1024}},
                                   {"large", {3, 3, 27, 3}, {192, 384, 768, 1536}},
                                   {"xlarge", {3, 3, 27, 3}, {256, 512, 1024, 2048}}};

// An argument of timm's model; absent: `otherwise`.
json argument(const json& config, const char* name, json otherwise) {
  const json args = config.value("model_args", json::object());
  return args.is_object() && args.contains(name) ? args[name] : std::move(otherwise);
}

Status accept_arguments(const json& config, const std::set<std::string>& known) {
  const json args = config.value("model_args", json::object());
  if (!args.is_object()) return Error(err::kBadConfig, "config.json: model_args is not an object");
  for (const auto& [name, value] : args.items())
    if (!known.contains(name))
      return Error(err::kConfigNotOffered,
                   fmt::format("config.json: model_args has '{}', which is not supported", name))
          .todo(fmt::format("hone knows {}", join({known.begin(), known.end()}, ", ")));
  return Ok{};
}

Status accept_pool(const json& config, const std::string& usual) {
  const json pool = argument(config, "global_pool", config.value("global_pool", json(usual)));
  if (pool == usual) return Ok{};
  return Error(err::kConfigNotOffered,
               fmt::format("config.json: global_pool is {}, which is not supported", pool.dump()))
      .todo(fmt::format("the pool of the architecture is '{}'", usual));
}

// {channels, height, width} of pretrained_cfg.
json input_size(const json& config, int64_t side) {
  const json usual = {3, side, side};
  const json cfg = config.value("pretrained_cfg", json::object());
  const json size = cfg.is_object() ? cfg.value("input_size", usual) : usual;
  return size.is_array() && size.size() == 3 ? size : usual;
}

// The keys that both kinds have.
json common(const json& config, const json& size) {
  json own{{"num_channels", argument(config, "in_chans", size[0])}};
  own["num_labels"] = config.value("num_classes", json(1000));
  const json names = config.value("label_names", json());
  if (names.is_array() && names.size() == own["num_labels"])
    for (size_t i = 0; i < names.size(); ++i) {
      own["id2label"][std::to_string(i)] = names[i];
      if (names[i].is_string()) own["label2id"][names[i].get<std::string>()] = i;
    }
  return own;
}

Result<json> resnet_of(const Resnet& r, const json& config) {
  HONE_TRY(
      accept_arguments(config, {"layers", "channels", "in_chans", "num_classes", "global_pool"}));
  HONE_TRY(accept_pool(config, "avg"));
  const json size = input_size(config, 224);
  json own = common(config, size);
  own["model_type"] = "resnet";
  own["depths"] = argument(config, "layers", json(r.depths));
  own["layer_type"] = r.bottleneck ? "bottleneck" : "basic";
  own["hidden_sizes"] = argument(config, "channels", {64, 128, 256, 512});
  if (own["hidden_sizes"].is_array())
    for (json& channels : own["hidden_sizes"])
      if (channels.is_number_integer() && r.bottleneck) channels = 4 * channels.get<int64_t>();
  own["image_size"] = {size[1], size[2]};
  return own;
}

// `scale`: what the scales of sublayers begin with; null: there are none.
Result<json> vit_of(const Vit& v, int64_t patch, int64_t side, const json& scale,
                    const json& config) {
  HONE_TRY(accept_arguments(
      config, {"img_size", "patch_size", "embed_dim", "depth", "num_heads", "mlp_ratio", "qkv_bias",
               "init_values", "in_chans", "num_classes", "global_pool"}));
  HONE_TRY(accept_pool(config, "token"));
  const json size = input_size(config, side);
  json own = common(config, size);
  own["model_type"] = "vit";
  own["hidden_size"] = argument(config, "embed_dim", v.width);
  own["num_hidden_layers"] = argument(config, "depth", v.layers);
  own["num_attention_heads"] = argument(config, "num_heads", v.heads);
  const json ratio = argument(config, "mlp_ratio", 4.0);
  if (!ratio.is_number() || !own["hidden_size"].is_number_integer())
    return Error(err::kBadConfig, "config.json: embed_dim or mlp_ratio is not a number");
  own["intermediate_size"] =
      static_cast<int64_t>(own["hidden_size"].get<double>() * ratio.get<double>());
  own["qkv_bias"] = argument(config, "qkv_bias", true);
  own["layer_norm_eps"] = 1e-6;
  own["image_size"] = argument(config, "img_size", {size[1], size[2]});
  own["patch_size"] = argument(config, "patch_size", patch);
  if (const json first = argument(config, "init_values", scale); !first.is_null() && first != 0) {
    if (!first.is_number())
      return Error(err::kBadConfig, "config.json: init_values is not a number");
    own["layerscale_value"] = first;
  }
  return own;
}

Result<json> swin_of(const Swin& v, int64_t window, int64_t side, const json& config) {
  HONE_TRY(accept_arguments(config, {"img_size", "patch_size", "embed_dim", "depths", "num_heads",
                                     "window_size", "mlp_ratio", "qkv_bias", "drop_path_rate",
                                     "in_chans", "num_classes", "global_pool"}));
  HONE_TRY(accept_pool(config, "avg"));
  const json size = input_size(config, side);
  json own = common(config, size);
  own["model_type"] = "swin";
  own["embed_dim"] = argument(config, "embed_dim", v.width);
  own["depths"] = argument(config, "depths", json(v.depths));
  own["num_heads"] = argument(config, "num_heads", json(v.heads));
  own["window_size"] = argument(config, "window_size", window);
  own["mlp_ratio"] = argument(config, "mlp_ratio", 4.0);
  own["qkv_bias"] = argument(config, "qkv_bias", true);
  own["drop_path_rate"] = argument(config, "drop_path_rate", 0.1);
  own["layer_norm_eps"] = 1e-5;
  own["image_size"] = argument(config, "img_size", {size[1], size[2]});
  own["patch_size"] = argument(config, "patch_size", 4);
  return own;
}

Result<json> convnext_of(const Convnext& v, const json& config) {
  HONE_TRY(accept_arguments(config, {"depths", "dims", "ls_init_value", "drop_path_rate",
                                     "in_chans", "num_classes", "global_pool"}));
  HONE_TRY(accept_pool(config, "avg"));
  const json size = input_size(config, 224);
  json own = common(config, size);
  own["model_type"] = "convnext";
  own["depths"] = argument(config, "depths", json(v.depths));
  own["hidden_sizes"] = argument(config, "dims", json(v.widths));
  own["layer_scale_init_value"] = argument(config, "ls_init_value", 1e-6);
  if (own["layer_scale_init_value"].is_null()) own["layer_scale_init_value"] = 0;  // no scales
  own["drop_path_rate"] = argument(config, "drop_path_rate", 0.0);
  own["layer_norm_eps"] = 1e-6;
  own["image_size"] = {size[1], size[2]};
  return own;
}

// The config of an architecture; nullopt: the name is not of this kind.
std::optional<Result<json>> resnet_named(const std::string& name, const json& config) {
  for (const Resnet& r : kResnets)
    if (name == r.name) return resnet_of(r, config);
  return {};
}
bool has_dinov2(const Vit& v) { return v.width > 192; }  // there is no tiny one
std::string dinov2_name(const Vit& v) { return fmt::format("vit_{}_patch14_dinov2", v.name); }
std::optional<Result<json>> vit_named(const std::string& name, const json& config) {
  for (const char* kind : {"vit", "deit"})
    for (const Vit& v : kVits)
      for (const int64_t patch : {8, 16, 32})
        for (const int64_t side : {224, 384})
          if (name == fmt::format("{}_{}_patch{}_{}", kind, v.name, patch, side))
            return vit_of(v, patch, side, {}, config);
  // DINOv2's, whose images have 518 pixels; the class by the first token alone.
  for (const Vit& v : kVits)
    if (has_dinov2(v) && name == dinov2_name(v)) return vit_of(v, 14, 518, 1e-5, config);
  return {};
}
std::optional<Result<json>> convnext_named(const std::string& name, const json& config) {
  for (const Convnext& v : kConvnexts)
    if (name == fmt::format("convnext_{}", v.name)) return convnext_of(v, config);
  return {};
}
std::optional<Result<json>> swin_named(const std::string& name, const json& config) {
  for (const Swin& v : kSwins)
    for (const auto& [window, side] : {std::pair{7, 224}, std::pair{12, 384}})
      if (name == fmt::format("swin_{}_patch4_window{}_{}", v.name, window, side))
        return swin_of(v, window, side, config);
  return {};
}

// The names of architectures, for a message.
std::vector<std::string> known_architectures() {
  std::vector<std::string> known;
  for (const Resnet& r : kResnets) known.emplace_back(r.name);
  for (const char* kind : {"vit", "deit"})
    for (const Vit& v : kVits) known.push_back(fmt::format("{}_{}_patch16_224", kind, v.name));
  for (const Vit& v : kVits)
    if (has_dinov2(v)) known.push_back(dinov2_name(v));
  for (const Convnext& v : kConvnexts) known.push_back(fmt::format("convnext_{}", v.name));
  for (const Swin& v : kSwins) known.push_back(fmt::format("swin_{}_patch4_window7_224", v.name));
  return known;
}

}  // namespace

std::string timm_prefix(const ModelConfig& c) {
  return c.layout == kWrappedTimmLayout ? kWrappedTimmLayout : "";
}

std::string timm_layout_of(const std::function<bool(const std::string&)>& has,
                           std::initializer_list<const char*> weights) {
  for (const std::string prefix : {"", kWrappedTimmLayout})
    if (std::all_of(weights.begin(), weights.end(),
                    [&](const char* name) { return has(prefix + name); }))
      return prefix.empty() ? kTimmLayout : prefix;
  return "";
}

bool is_timm_config(const json& config) {
  const json type = config.value("model_type", json());
  const json architecture = config.value("architecture", json());
  return architecture.is_string() && (type.is_null() || type == "timm_wrapper");
}

Result<json> config_of_timm(const json& config) {
  const std::string whole = config.at("architecture").get<std::string>(),
                    name = whole.substr(0, whole.find('.'));
  for (const auto named : {resnet_named, vit_named, convnext_named, swin_named})
    if (std::optional<Result<json>> own = named(name, config)) return std::move(*own);
  return Error(err::kUnknownFamily, fmt::format("hone has no timm architecture '{}'", whole))
      .todo(fmt::format("architectures that work: {}", join(known_architectures(), ", ")));
}

json timm_config_of(const ModelConfig& c) {
  json config = *c.timm;
  config["num_classes"] = c.labels;
  json cfg = config.value("pretrained_cfg", json::object());
  if (cfg.is_object()) {
    if (cfg.value("num_classes", json(c.labels)) != c.labels) cfg.erase("label_offset");
    cfg["num_classes"] = c.labels;
    config["pretrained_cfg"] = std::move(cfg);
  }
  if (config.contains("model_args") && config["model_args"].contains("num_classes"))
    config["model_args"]["num_classes"] = c.labels;
  const auto names = c.config.find("id2label");
  if (names == c.config.end()) return config;
  json list = json::array();
  for (int64_t i = 0; i < c.labels; ++i) list.push_back(names->at(std::to_string(i)));
  config["label_names"] = std::move(list);
  return config;
}

}  // namespace hone
