// Reads a pipeline's file, YAML or JSON, as a JSON value, and remembers the line and column of each part.
#pragma once

#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

struct ConfigTree {
  std::string name;  // name of the file, for messages
  OrderedJson value;
  JsonPlaces places;  // JSON pointer -> line and column

  // The place of a JSON pointer in the file: "run.json:3:5". The file's name if the place is unknown.
  std::string place(const std::string& pointer) const;
};

// Parses JSON if `name` ends in .json, else YAML. Errors: H3161 too many values, or keys that are not text; H3162 a key
// is given twice; H0001, H0002 malformed or too deeply nested JSON; H0208 malformed YAML.
Result<ConfigTree> read_config_tree(std::string_view text, const std::string& name);

// Escapes a key for a JSON pointer: "~" and "/".
std::string pointer_part(const std::string& key);

// A YAML document with this value.
std::string yaml_text(const OrderedJson& value);

}  // namespace hone
