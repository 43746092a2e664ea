// The body of a request as JSON, and how many texts it may have.
#pragma once

#include <string_view>

#include "base/core/json.h"

namespace hone {

// An object that is nested 32 deep at most; numbers as by whole_numbers. H3415 with line and column.
Result<Json> json_object(std::string_view text);

// 4.0 becomes 4, everywhere in the value: clients whose numbers are all doubles (protobuf's Value,
// JavaScript) mean whole numbers by it.
void whole_numbers(Json& value);

inline constexpr size_t kMostTexts = 1024;  // of one request
// H3415: more than kMostTexts.
Status check_text_count(size_t texts);

}  // namespace hone
