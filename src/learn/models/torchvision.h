// Files with torchvision's names: a state dict alone, which says no config. Its ResNets have timm's names.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/core/error.h"
#include "base/core/json.h"
#include "engine/graph/type.h"
#include "learn/models/config.h"

namespace hone {

constexpr const char* kTorchvisionLayout = "torchvision";  // ModelConfig::layout
// As torchvision's releases before 0.14 saved a ViT: its MLP has linear_1 and linear_2.
constexpr const char* kFirstTorchvisionLayout = "torchvision linear_1";
inline bool is_torchvision_layout(const ModelConfig& c) {
  return c.layout == kTorchvisionLayout || c.layout == kFirstTorchvisionLayout;
}

// The config with Transformers' keys of a ResNet, ViT, ConvNeXt or Swin by the shapes of its weights; `shape_of` gives
// null for a weight that is not there. nullopt: the file holds another model. H2303: a variant that hone does not have, or a
// ViT whose shapes do not say its heads.
std::optional<Result<nlohmann::json>> config_of_torchvision(
    const std::function<const Shape*(const std::string&)>& shape_of);

}  // namespace hone
