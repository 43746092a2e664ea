// YAML documents inside this room: nodes with places, and their JSON.
#pragma once

#include <yaml-cpp/yaml.h>

#include "base/core/json.h"

namespace hone {

// Aliases (&a, *a) share nodes, so a few lines can unfold into billions; this limit is ample.
inline constexpr int kMostYamlNodes = 100000;

std::string place_text(const std::string& name, TextPlace p);
TextPlace place_of(const YAML::Mark& mark);

// Loads the one document of a text and catches exceptions. Errors H0208: syntax, not UTF-8, more
// than one document.
Result<YAML::Node> load_yaml(std::string_view text, const std::string& name);

// The types of scalars. A setting's own type decides what its text means (`5e-5`, `no`); only a
// JSON setting can hold a map, and inside it YAML's own types hold.
enum class YamlScalars { kText, kTextOutsideMaps, kTyped };
// May throw yaml-cpp's exceptions.
Result<Json> json_of(const YAML::Node& node, YamlScalars scalars, const std::string& name,
                     int& budget, int depth = 0);

}  // namespace hone
