// Loads YAML documents for the files of src/base/settings: nodes of yaml-cpp, their places, and their JSON.
#pragma once

#include <yaml-cpp/yaml.h>

#include "base/core/json.h"

namespace hone {

// The largest number of values in a document. Aliases (&a, *a) share nodes, so a few lines could become billions of
// values in JSON.
inline constexpr int kMostYamlNodes = 100000;

std::string place_text(const std::string& name, TextPlace p);  // "run.yaml:3:1"
TextPlace place_of(const YAML::Mark& mark);

// Loads a text with one document. Does not throw. Error H0208 if the syntax is wrong, the text is not UTF-8, or there
// are several documents.
Result<YAML::Node> load_yaml(std::string_view text, const std::string& name);

// The JSON type of a scalar without quotes. kText: always a string. kTyped: a bool, a number, or a string for all other
// texts. kTextOutsideMaps: a string, but kTyped inside a map. Settings files use kTextOutsideMaps: the type of a
// setting decides what its text means (`5e-5`, `no`), and only settings of type JSON have a map as their value.
enum class YamlScalars { kText, kTextOutsideMaps, kTyped };
// The JSON of a node. `name` appears in messages. Subtracts the number of values from `budget`. `depth` is the depth of
// the node. Error H0208 if the budget is used up, values are nested deeper than 64, or a key is not a scalar. May throw
// yaml-cpp's exceptions.
Result<Json> json_of(const YAML::Node& node, YamlScalars scalars, const std::string& name,
                     int& budget, int depth = 0);

}  // namespace hone
