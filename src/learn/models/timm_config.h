// config.json in timm's form: {"architecture": "resnet50", "num_classes": 1000, "pretrained_cfg": {...}}, also with
// model_type timm_wrapper, as Transformers writes it, whose names of weights begin with "timm_model.".
#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include "base/core/error.h"
#include "base/core/json.h"
#include "learn/models/config.h"

namespace hone {

constexpr const char* kTimmLayout = "timm";                // ModelConfig::layout
constexpr const char* kWrappedTimmLayout = "timm_model.";  // with that prefix
inline bool is_timm_layout(const ModelConfig& c) {
  return c.layout == kTimmLayout || c.layout == kWrappedTimmLayout;
}
// "timm_model.", "" of other layouts.
std::string timm_prefix(const ModelConfig& c);
// The layout of a file that has all of these weights, in timm's names without the prefix; "": it is not timm's.
std::string timm_layout_of(const std::function<bool(const std::string&)>& has,
                           std::initializer_list<const char*> weights);

bool is_timm_config(const nlohmann::json& config);
// The config of the family with the keys of Transformers. H2301: an architecture that hone does not have;
// H2303: model_args or a pool that it does not know; H2302: model_args that are not numbers.
Result<nlohmann::json> config_of_timm(const nlohmann::json& config);
// `c.timm` with the classes of `c`, to be saved.
nlohmann::json timm_config_of(const ModelConfig& c);

}  // namespace hone
