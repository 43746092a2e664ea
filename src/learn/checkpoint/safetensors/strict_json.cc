#include "learn/checkpoint/safetensors/strict_json.h"

namespace hone {

Result<Json> parse_strict_json(std::string_view text, ErrorCode code, const std::string& file,
                               int max_depth) {
  Json value;
  const auto fault =
      parse_json(text, {.strict = true, .unique_keys = true, .max_depth = max_depth}, value);
  if (!fault) return value;
  return Error(code, fmt::format("'{}' is not JSON that hone accepts: {}", file, fault->what))
      .at(fmt::format("{}:{}:{}", file, fault->place.line, fault->place.column));
}

Result<Json> read_json_object(const std::string& path, ErrorCode code) {
  Json value = HONE_TRY(read_json_file(path));
  if (!value.is_object())
    return Error(code, fmt::format("'{}' holds JSON, but not an object", path))
        .todo("compare it with the model's original file");
  return value;
}

std::string json_text(const Json& value, int indent) {
  return dump_json(value, {.indent = indent, .ascii = false});
}

}  // namespace hone
