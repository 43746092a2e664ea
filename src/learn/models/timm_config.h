// Reads and writes config.json in the form of timm (PyTorch Image Models): {"architecture": "resnet50", "num_classes":
// 1000, "pretrained_cfg": {...}}. Transformers writes such a file with the model_type "timm_wrapper"; the names of the
// model's weights then begin with "timm_model.".
#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include "base/core/error.h"
#include "base/core/json.h"
#include "learn/models/config.h"

namespace hone {

// Values of ModelConfig::layout: timm's names of weights, without and with the prefix "timm_model.".
constexpr const char* kTimmLayout = "timm";
constexpr const char* kWrappedTimmLayout = "timm_model.";
inline bool is_timm_layout(const ModelConfig& c) {
  return c.layout == kTimmLayout || c.layout == kWrappedTimmLayout;
}
// "timm_model." if the weights have this prefix, else "".
std::string timm_prefix(const ModelConfig& c);
// kTimmLayout or kWrappedTimmLayout, if the file has all of `weights` (timm's names without the prefix); "": it does
// not have timm's names. has(name): whether the file has a weight of this name.
std::string timm_layout_of(const std::function<bool(const std::string&)>& has,
                           std::initializer_list<const char*> weights);

// Whether a config.json has timm's form.
bool is_timm_config(const nlohmann::json& config);
// Converts a config.json in timm's form to one with Transformers' keys. H2301: the architecture is not supported.
// H2303: an element of model_args or the global_pool is not supported. H2302: an element of model_args has the wrong
// type.
Result<nlohmann::json> config_of_timm(const nlohmann::json& config);
// The config.json to save: `c.timm` with the number and the names of the classes of `c`.
nlohmann::json timm_config_of(const ModelConfig& c);

}  // namespace hone
