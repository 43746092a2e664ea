#include "operate/serve/protocol/json_body.h"

#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "operate/serve/protocol/errors.h"

namespace hone {

void whole_numbers(Json& value) {
  constexpr double kLargest = 9007199254740992;  // 2^53: every whole number up to it is a double
  if (value.is_structured())
    for (Json& one : value) whole_numbers(one);
  if (!value.is_number_float()) return;
  const double x = value.get<double>();
  if (std::abs(x) <= kLargest && x == std::floor(x)) value = static_cast<int64_t>(x);
}

Result<Json> json_object(std::string_view text) {
  Json json;
  JsonRules rules;
  rules.max_depth = 32;
  if (const auto fault = parse_json(text, rules, json))
    return Error(err::kServeRequest, "the body is not JSON: " + fault->what)
        .at(fmt::format("line {}, column {}", fault->place.line, fault->place.column));
  if (!json.is_object()) return Error(err::kServeRequest, "the body is not an object");
  whole_numbers(json);
  return json;
}

Status check_keys(const Json& object, std::initializer_list<const char*> known,
                  const std::string& place) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    Error e(err::kServeRequest, fmt::format("there is no key '{}'", key));
    if (!place.empty()) e.at(place);
    return std::move(
        e.todo("the keys are " + join(std::vector<std::string>(known.begin(), known.end()), ", ")));
  }
  return Ok{};
}

Result<std::string> text_member(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return std::string();
  if (!it->is_string()) return Error(err::kServeRequest, fmt::format("{} is not a text", key));
  return it->get<std::string>();
}

Result<Json> parameters_of(const Json& object) {
  const auto it = object.find("parameters");
  if (it == object.end() || it->is_null()) return Json::object();
  if (!it->is_object()) return Error(err::kServeRequest, "the parameters are not an object");
  return *it;
}

Status check_text_count(size_t texts) {
  if (texts <= kMostTexts) return Ok{};
  return Error(err::kServeRequest,
               fmt::format("the request has {} texts, at most {} are taken", texts, kMostTexts))
      .todo("send them in several requests");
}

}  // namespace hone
