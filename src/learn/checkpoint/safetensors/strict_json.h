// Parses JSON strictly, for file headers and manifests: a key that appears twice is refused,
// because one of its values would be ignored.
#pragma once

#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

// One value, valid UTF-8, no key twice in an object, at most `max_depth` levels; else an Error with
// `code` that names the file and what is wrong.
Result<Json> parse_strict_json(std::string_view text, ErrorCode code, const std::string& file,
                               int max_depth = 64);
// The object in a file that people and Transformers write (config.json), read as Python reads it;
// `code` when it holds no object.
Result<Json> read_json_object(const std::string& path, ErrorCode code);
// The same with the keys in the file's order.
Result<OrderedJson> read_ordered_object(const std::string& path, ErrorCode code);
// Text as Transformers writes such a file.
std::string json_text(const Json& value, int indent = 2);

}  // namespace hone
