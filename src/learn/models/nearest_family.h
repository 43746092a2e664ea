// The model type whose config is nearest to one of an unknown type.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"

namespace hone {

// Compares the keys of a config.json with usual configs by model type (ModelType::usual): "its
// config.json is nearest to that of 'bert': 12 keys are the same, bert has no 'x', the config has no
// 'y'". "" if none shares enough keys.
std::string nearest_family_text(const nlohmann::json& config,
                                const std::map<std::string, const char*>& usual);

}  // namespace hone
