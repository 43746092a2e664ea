#include "learn/checkpoint/safetensors/strict_json.h"

#include <set>
#include <vector>
namespace hone {
namespace {
struct Refused {
  std::string why;
};
}  // namespace

Result<Json> parse_strict_json(std::string_view text, ErrorCode code, const std::string& file,
                               int max_depth) {
  using json = Json;
  std::vector<std::set<std::string>> keys;  // of each open object
  const json::parser_callback_t watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > max_depth) throw Refused{fmt::format("nested more than {} levels deep", max_depth)};
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw Refused{fmt::format("key '{}' appears twice in one object", parsed.get<std::string>())};
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const Refused& r) {
    return Error(code, fmt::format("'{}' holds JSON that hone refuses: {}", file, r.why));
  } catch (const json::exception& e) {
    std::string why = e.what();
    if (const size_t at = why.find("] "); at != std::string::npos) why = why.substr(at + 2);
    return Error(code, fmt::format("'{}' is not valid JSON: {}", file, why));
  }
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
