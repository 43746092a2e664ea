// A pipeline's file, YAML or JSON, as values with their places.
#pragma once

#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

struct ConfigTree {
  std::string name;  // for messages
  OrderedJson value;
  JsonPlaces places;

  // "run.json:3:5" of a JSON pointer; the file's name if the place is unknown.
  std::string place(const std::string& pointer) const;
};

// Parses JSON if `name` ends in .json, YAML otherwise. Errors: H3161 too many values; H3162 a key
// is given twice; H0001, H0002, H0208 malformed JSON or YAML.
Result<ConfigTree> read_config_tree(std::string_view text, const std::string& name);

// Escapes a key for a JSON pointer: "~" and "/".
std::string pointer_part(const std::string& key);

// One YAML document with this value.
std::string yaml_text(const OrderedJson& value);

}  // namespace hone
