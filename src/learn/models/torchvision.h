// Models of torchvision: a state dict without a config. The config is derived from the names and shapes of the
// weights. torchvision's ResNets have the same names of weights as timm's.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/core/error.h"
#include "base/core/json.h"
#include "engine/graph/type.h"
#include "learn/models/config.h"

namespace hone {

// Values of ModelConfig::layout. kTorchvisionLayout: torchvision's names of weights. kFirstTorchvisionLayout: the names
// of a ViT that torchvision saved before version 0.14; its MLPs have the layers linear_1 and linear_2.
constexpr const char* kTorchvisionLayout = "torchvision";
constexpr const char* kFirstTorchvisionLayout = "torchvision linear_1";
inline bool is_torchvision_layout(const ModelConfig& c) {
  return c.layout == kTorchvisionLayout || c.layout == kFirstTorchvisionLayout;
}

// Derives a config.json with Transformers' keys from the shapes of a ResNet, ViT, ConvNeXt or Swin. shape_of(name):
// the shape of a weight; null: the file has no such weight. nullopt: the file holds another model. H2303: the variant
// is not supported, or the number of heads of a ViT does not follow from its shapes.
std::optional<Result<nlohmann::json>> config_of_torchvision(
    const std::function<const Shape*(const std::string&)>& shape_of);

}  // namespace hone
