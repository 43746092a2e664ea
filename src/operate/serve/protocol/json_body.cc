#include "operate/serve/protocol/json_body.h"

#include "operate/serve/protocol/errors.h"

namespace hone {

Result<Json> json_object(std::string_view text) {
  Json json;
  JsonRules rules;
  rules.max_depth = 32;
  if (const auto fault = parse_json(text, rules, json))
    return Error(err::kServeRequest, "the body is not JSON: " + fault->what)
        .at(fmt::format("line {}, column {}", fault->place.line, fault->place.column));
  if (!json.is_object()) return Error(err::kServeRequest, "the body is not an object");
  return json;
}

Status check_text_count(size_t texts) {
  if (texts <= kMostTexts) return Ok{};
  return Error(err::kServeRequest,
               fmt::format("the request has {} texts, at most {} are taken", texts, kMostTexts))
      .todo("send them in several requests");
}

}  // namespace hone
