// YAML texts that are not settings, such as the header of a data set's README.md.
#pragma once

#include "base/core/json.h"

namespace hone {

// One YAML document; every scalar is its text ("no", "1.0", "true"), only null is null. `name`
// appears in messages. `places`: receives the place of each key and each element of a list, by JSON
// pointer. Errors H0208.
Result<Json> parse_yaml(std::string_view text, const std::string& name,
                        JsonPlaces* places = nullptr);

}  // namespace hone
