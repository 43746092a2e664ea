#include "learn/checkpoint/safetensors/strict_json.h"

#include "base/core/text.h"

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

namespace {

Status expect_object(bool is_object, const std::string& path, ErrorCode code) {
  if (is_object) return Ok{};
  return Error(code, fmt::format("'{}' holds JSON, but not an object", path))
      .todo("compare it with the model's original file");
}

}  // namespace

Result<Json> read_json_object(const std::string& path, ErrorCode code) {
  Json value = HONE_TRY(read_json_file(path));
  HONE_TRY(expect_object(value.is_object(), path, code));
  return value;
}

Result<OrderedJson> read_ordered_object(const std::string& path, ErrorCode code) {
  OrderedJson value = HONE_TRY(parse_ordered_json(HONE_TRY(read_file(path)), path));
  HONE_TRY(expect_object(value.is_object(), path, code));
  return value;
}

std::string json_text(const Json& value, int indent) {
  return dump_json(value, {.indent = indent, .ascii = false});
}

}  // namespace hone
