// A pipeline's file, YAML or JSON, as values that know their places.
#pragma once

#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

struct ConfigTree {
  std::string name;  // in messages
  OrderedJson value;
  JsonPlaces places;

  // "run.json:3:5" of a JSON pointer; the file's name where nothing is known.
  std::string place(const std::string& pointer) const;
};

// JSON when `name` ends in .json, YAML otherwise. Errors: H3161 too many values; H3162 a key is given
// twice; H0001, H0002, H0208 what is not JSON or YAML.
Result<ConfigTree> read_config_tree(std::string_view text, const std::string& name);

// A key as it is in a JSON pointer: "~" and "/" are escaped.
std::string pointer_part(const std::string& key);

// One YAML document that has this value.
std::string yaml_text(const OrderedJson& value);

}  // namespace hone
