// Functions to parse the body of a request as JSON, and to check its keys and its number of texts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

// Parses a JSON object with at most 32 levels of nesting, and applies whole_numbers(). Error H3415: the text is not
// JSON (the error has the line and column), or is not an object.
Result<Json> json_object(std::string_view text);

// Turns floats without a fraction into integers, everywhere in the value: 4.0 becomes 4. Clients whose numbers are all
// doubles (protobuf's Value, JavaScript) send whole numbers in this form.
void whole_numbers(Json& value);

// Error H3415: the object has a key that is not among `known`. `place` is the key of the object for the error; "": the
// object is the whole body.
Status check_keys(const Json& object, std::initializer_list<const char*> known,
                  const std::string& place = "");

// The member `key` if it is a text; "" if it is missing or null. Error H3415: it has another type.
Result<std::string> text_member(const Json& object, const char* key);
// The member "parameters" if it is an object; an empty object if it is missing or null. Error H3415: it has another
// type.
Result<Json> parameters_of(const Json& object);

inline constexpr size_t kMostTexts = 1024;  // limit for the texts of one request
// Error H3415: the number `texts` is more than kMostTexts.
Status check_text_count(size_t texts);

}  // namespace hone
