// Reads and writes JSON in the form of Python's json module. The values are those of nlohmann::json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

// The library defines two literals (""_json and ""_json_pointer) as inline functions, which call the parser. Every file
// that includes the header would compile them: half a second each. The macros make them templates,
// which cost nothing because hone never uses these literals.
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

// Explicit instantiations: these members, which most files use, are compiled once, in json_library.cc. (The whole class
// would include CBOR, BSON and other formats.)
#define HONE_JSON_PARSER(EXTERN, J, INPUT)                 \
  EXTERN template class nlohmann::detail::lexer<J, INPUT>; \
  EXTERN template class nlohmann::detail::parser<J, INPUT>;
#define HONE_JSON_MEMBERS(EXTERN, J)                                                             \
  EXTERN template J::basic_json(const J&);                                                       \
  EXTERN template J::basic_json(J::initializer_list_t, bool, nlohmann::detail::value_t);         \
  EXTERN template J::json_value::json_value(nlohmann::detail::value_t);                          \
  EXTERN template std::string J::dump(int, char, bool, nlohmann::detail::error_handler_t) const; \
  EXTERN template J::reference J::operator[](std::string);                                       \
  EXTERN template class nlohmann::detail::serializer<J>;                                         \
  HONE_JSON_PARSER(EXTERN, J, nlohmann::detail::input_stream_adapter)                            \
  HONE_JSON_PARSER(EXTERN, J, nlohmann::detail::iterator_input_adapter<const char*>)             \
  HONE_JSON_PARSER(EXTERN, J, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>)
// Replaces the library's destroy(), which allocates memory to destroy values of any depth and would end the program if
// there is no memory. The replacements are recursive, which is safe: hone's values are at most kJsonMaxDepth deep.
template <>
void nlohmann::json::json_value::destroy(nlohmann::detail::value_t);
template <>
void nlohmann::ordered_json::json_value::destroy(nlohmann::detail::value_t);
HONE_JSON_MEMBERS(extern, nlohmann::json)
HONE_JSON_MEMBERS(extern, nlohmann::ordered_json)

namespace hone {

using Json = nlohmann::json;                 // keys in sorted order
using OrderedJson = nlohmann::ordered_json;  // keys in the order of the file

// A place in a text. Lines and columns count from 1; a column is a byte.
struct TextPlace {
  int64_t line = 1, column = 1;
};
// Maps the path of each value in a text to the place where the value begins. The path has "/" and the key or array
// index for each level ("/zero_optimization/stage"; "" is the whole text): a JSON pointer whose keys are not escaped.
// If an object has a key twice, the map has both places, in the order of the text.
using JsonPlaces = std::multimap<std::string, TextPlace>;

// The largest depth of nested objects and arrays in a text. Deeper texts are Error H0002.
inline constexpr int kJsonMaxDepth = 256;

struct JsonRules {
  // Follows RFC 8259: refuses NaN, Infinity, a lone surrogate, and a number that is too large for a double.
  bool strict = false;
  bool unique_keys = false;       // refuses a key that appears twice in one object
  int max_depth = kJsonMaxDepth;  // the largest depth of nested objects and arrays
  JsonPlaces* places = nullptr;   // not null: receives the place of each value
};
// The reason why a text is refused, and its place.
struct JsonFault {
  ErrorCode code;    // H0001: the syntax is wrong; H0002: it is nested too deeply
  std::string what;  // the reason, without name and place
  TextPlace place;
};
// Parses one JSON value into `value` by the given rules. Returns nullopt if the text is accepted. For callers that
// write their own message; parse_json() below describes the syntax.
std::optional<JsonFault> parse_json(std::string_view text, const JsonRules& rules, Json& value);
std::optional<JsonFault> parse_json(std::string_view text, const JsonRules& rules,
                                    OrderedJson& value);

// Parses one JSON value; text after it is an error. `name` says where the text comes from, such as a file or "--flag";
// messages begin with name:line:column. Accepts a UTF-8 byte order mark, NaN, Infinity and -Infinity. If a key is
// given twice, the last value counts. Integers beyond 64 bits become doubles; a lone surrogate escape becomes U+FFFD.
// `places` not null: receives the place of each value. Errors: H0001 if the syntax is wrong or bytes are not UTF-8,
// H0002 if the text is nested deeper than kJsonMaxDepth.
Result<Json> parse_json(std::string_view text, const std::string& name,
                        JsonPlaces* places = nullptr);
Result<OrderedJson> parse_ordered_json(std::string_view text, const std::string& name);

// read_file() and parse_json() with the path as the name. Errors: H0003 if the file cannot be read, H0001 and H0002 of
// parse_json().
Result<Json> read_json_file(const std::string& path, JsonPlaces* places = nullptr);

struct JsonStyle {
  // The number of blanks for each level, with each member on its own line; -1: one line with ", " and ": ".
  int indent = -1;
  bool ascii = false;  // true: characters outside ASCII become \uXXXX, as in Python's default
};
// The text of a value, without a line break at the end. Doubles have the form of double_text(). Bytes that are not
// UTF-8 become U+FFFD.
std::string dump_json(const Json& value, JsonStyle style = {});
std::string dump_json(const OrderedJson& value, JsonStyle style = {});

// The member `key` of `object` if it is a string; "" if it is not, or if `object` has no such member.
template <class J>
std::string text_at(const J& object, const char* key) {
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() && it->is_string() ? it->template get<std::string>() : "";
}
// The member `key` of `object`, of any type; a JSON null if there is none or `object` is not an object. The reference
// is valid as long as `object`.
template <class J>
const J& value_at(const J& object, const char* key) {
  static const J kNull = nullptr;
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() ? *it : kNull;
}
// The member `key` of `object` if it is an integer; 0 if it is not, or if there is none.
template <class J>
int64_t whole_at(const J& object, const char* key) {
  const J& value = value_at(object, key);
  return value.is_number_integer() ? value.template get<int64_t>() : 0;
}

// The shortest text that reads back as the same double, in the form of Python's json module: 5e-05, 1.0, NaN, Infinity.
std::string double_text(double value);

}  // namespace hone
