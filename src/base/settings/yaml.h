// Reads YAML texts other than settings files, such as the header of a data set's README.md.
#pragma once

#include "base/core/json.h"

namespace hone {

// Parses one YAML document. Every scalar becomes a string ("no", "1.0", "true"), except null. `name` appears in
// messages. `places` not null: receives the place of each key and of each element of a list (base/core/json.h). Error
// H0208 if the text is not one YAML document in UTF-8, has a key that is not a scalar, is nested deeper than 64, or has
// more than 100000 values.
Result<Json> parse_yaml(std::string_view text, const std::string& name,
                        JsonPlaces* places = nullptr);

}  // namespace hone
