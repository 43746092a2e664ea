// For a config.json of an unknown model type: finds the known type whose config is most similar.
#pragma once

#include <map>
#include <string>

#include "base/core/json.h"

namespace hone {

// Compares the keys of `config` with `usual`, the default config of each model type (ModelType::usual). Returns a text
// for the error message: "its config.json is nearest to that of 'bert': 12 keys are the same, bert has no 'x', the
// config has no 'y'". "": no type has enough of the keys.
std::string nearest_family_text(const nlohmann::json& config,
                                const std::map<std::string, const char*>& usual);

}  // namespace hone
