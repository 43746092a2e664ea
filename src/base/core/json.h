// JSON in and out, as Python's json module writes and reads it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

// The library's two text literals (""_json) parse in an inline function, which every file that
// reads the header would compile, used or not: half a second each. They become templates here,
// which nobody instantiates; hone has no such literal.
#define _json(text, size)          \
  _json(const char*, std::size_t); \
  template <class Unused>          \
  nlohmann::json json_literal(text, size)
#define _json_pointer(text, size)          \
  _json_pointer(const char*, std::size_t); \
  template <class Unused>                  \
  nlohmann::json::json_pointer json_pointer_literal(text, size)
#include <nlohmann/json.hpp>
#undef _json
#undef _json_pointer

#include "base/core/error.h"

// Members that most files use are compiled once, in json_library.cc. (The whole class would bring
// CBOR, BSON and others with it.)
#define HONE_JSON_MEMBERS(EXTERN, J)                                                             \
  EXTERN template J::basic_json(const J&);                                                       \
  EXTERN template J::basic_json(J::initializer_list_t, bool, nlohmann::detail::value_t);         \
  EXTERN template void J::json_value::destroy(nlohmann::detail::value_t);                        \
  EXTERN template J::json_value::json_value(nlohmann::detail::value_t);                          \
  EXTERN template std::string J::dump(int, char, bool, nlohmann::detail::error_handler_t) const; \
  EXTERN template J::reference J::operator[](std::string);                                       \
  EXTERN template class nlohmann::detail::serializer<J>;
HONE_JSON_MEMBERS(extern, nlohmann::json)
HONE_JSON_MEMBERS(extern, nlohmann::ordered_json)

namespace hone {

using Json = nlohmann::json;                 // keys in sorted order
using OrderedJson = nlohmann::ordered_json;  // keys in the order of the file

struct TextPlace {
  int64_t line = 1, column = 1;  // both from 1; columns count bytes
};
// The place of each value of a text, by JSON pointer ("/zero_optimization/stage"); values of equal
// keys in the order of the text.
using JsonPlaces = std::multimap<std::string, TextPlace>;

// Nesting allowed in a text; deeper is Error H0002.
inline constexpr int kJsonMaxDepth = 256;

struct JsonRules {
  bool strict = false;       // RFC 8259: no NaN, no Infinity, no lone surrogate, no number that a
                             // double cannot hold
  bool unique_keys = false;  // no key twice in one object
  int max_depth = kJsonMaxDepth;
  JsonPlaces* places = nullptr;
};
// Why a text was refused, and where in it.
struct JsonFault {
  ErrorCode code;  // H0001 or H0002
  std::string what;
  TextPlace place;
};
// As parse_json below, by other rules; for callers with a message of their own.
std::optional<JsonFault> parse_json(std::string_view text, const JsonRules& rules, Json& value);
std::optional<JsonFault> parse_json(std::string_view text, const JsonRules& rules,
                                    OrderedJson& value);

// Parses one JSON value and nothing after it. `name` (a file, "--flag") is in messages as
// name:line:column. Accepts a UTF-8 byte order mark, NaN, Infinity and -Infinity; of equal keys
// the last wins; integers beyond 64 bits become doubles; a lone surrogate escape becomes U+FFFD.
// Errors H0001 (syntax, bytes that are not UTF-8), H0002.
Result<Json> parse_json(std::string_view text, const std::string& name,
                        JsonPlaces* places = nullptr);
Result<OrderedJson> parse_ordered_json(std::string_view text, const std::string& name);

// read_file and parse_json; the name in messages is the path.
Result<Json> read_json_file(const std::string& path, JsonPlaces* places = nullptr);

struct JsonStyle {
  int indent = -1;     // -1: one line with ", " and ": "
  bool ascii = false;  // escape all that is not ASCII (Python's default)
};
// Doubles as Python's repr (shortest digits that read back equal: 5e-05, 1.0, NaN, Infinity).
// Bytes that are not UTF-8 become U+FFFD. No line break at the end.
std::string dump_json(const Json& value, JsonStyle style = {});
std::string dump_json(const OrderedJson& value, JsonStyle style = {});

// The text that a member of an object is; "" where there is none, or it is something else.
template <class J>
std::string text_at(const J& object, const char* key) {
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() && it->is_string() ? it->template get<std::string>() : "";
}
// The same of any value, null where there is none.
template <class J>
const J& value_at(const J& object, const char* key) {
  static const J kNull = nullptr;
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() ? *it : kNull;
}
// The same of a whole number, 0 where there is none.
template <class J>
int64_t whole_at(const J& object, const char* key) {
  const J& value = value_at(object, key);
  return value.is_number_integer() ? value.template get<int64_t>() : 0;
}

// Shortest text that reads back as the same double, as Python's repr.
std::string double_text(double value);

}  // namespace hone
