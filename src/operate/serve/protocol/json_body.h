// The body of a request as JSON, and the limit of its texts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

// An object that is nested 32 deep at most; numbers as by whole_numbers. H3415 with line and column.
Result<Json> json_object(std::string_view text);

// 4.0 becomes 4, everywhere in the value: clients whose numbers are all doubles (protobuf's Value,
// JavaScript) mean whole numbers by it.
void whole_numbers(Json& value);

// H3415: the object has a key that is not among these. `place`: where the object is; "": the body.
Status check_keys(const Json& object, std::initializer_list<const char*> known,
                  const std::string& place = "");

// Optional members: a text ("" if there is none, or null), and the object "parameters" (empty if there is none, or null).
// H3415: it has another type.
Result<std::string> text_member(const Json& object, const char* key);
Result<Json> parameters_of(const Json& object);

inline constexpr size_t kMostTexts = 1024;  // of one request
// H3415: more than kMostTexts.
Status check_text_count(size_t texts);

}  // namespace hone
