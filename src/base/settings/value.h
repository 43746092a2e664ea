// Typed fields of settings structs, and the text or JSON value that is assigned to them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/json.h"

namespace hone {

// A size in bytes: "16GiB", "16G" (the same), "500MB" (powers of 1000), "1.5TiB", "4096".
struct ByteSize {
  int64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};

// A JSON object that is written in place, or the name of a file that holds one (a string).
struct JsonOrFile {
  Json value = "";
  bool empty() const { return value == Json(""); }
  bool operator==(const JsonOrFile&) const = default;
};

// A pointer to the value of a setting. These are the types of a settings.def.
using Field =
    std::variant<bool*, int64_t*, double*, std::string*, ByteSize*, std::vector<std::string>*,
                 Json*, std::optional<bool>*, std::optional<int64_t>*, std::optional<double>*,
                 std::optional<std::string>*, std::optional<ByteSize>*, JsonOrFile*>;

bool is_bool(const Field& field);  // bool or optional bool: a flag without value means true
bool is_list(const Field& field);
bool is_text(const Field& field);              // text, a list of texts, or a JSON file
const char* expected(const Field& field);      // "a number such as 0.1 or 5e-5"
const char* metavariable(const Field& field);  // "NUMBER", for --help

// Converts and stores; false (and nothing stored) if `value` cannot be read as the field's type.
// Text is read like a flag's: true/false/yes/no/on/off/1/0; 1_000, 1e3, -1; 5e-5, inf; 16GiB; "a,b"
// or [a, b] for a list; JSON text for JSON; None or null for an optional one.
bool assign(const Field& field, const Json& value);

// The value as it is printed and dumped (ByteSize: "16GiB" or plain digits; unset: null).
OrderedJson value_of(const Field& field);
// One line for people: 5e-05, 40 (also for 40.0), true, a,b, none.
std::string value_text(const OrderedJson& value);

std::optional<bool> bool_of(std::string_view text);

}  // namespace hone
