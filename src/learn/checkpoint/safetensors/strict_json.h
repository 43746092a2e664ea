// Reads and writes JSON files of checkpoints. Headers and manifests are parsed strictly: a key that appears twice is
// refused, because one of its values would be ignored.
#pragma once

#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

// Parses one JSON value. The error `code`: the text is not valid JSON in UTF-8, an object has a key twice, or there
// are more than `max_depth` levels. The message names `file` and the fault.
Result<Json> parse_strict_json(std::string_view text, ErrorCode code, const std::string& file,
                               int max_depth = 64);
// Reads a file such as config.json, as Python's json module does. The error `code`: the file holds JSON that is not an
// object. H0003: the file cannot be read. H0001, H0002: the file is not JSON, or is nested too deeply.
Result<Json> read_json_object(const std::string& path, ErrorCode code);
// As read_json_object(), but keeps the keys in the order of the file.
Result<OrderedJson> read_ordered_object(const std::string& path, ErrorCode code);
// The text of `value` in the form in which Transformers writes such files, without a newline at the end. indent: blanks
// for each level.
std::string json_text(const Json& value, int indent = 2);

}  // namespace hone
