// Reads and writes JSON as Python's json module does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

// The library defines two literals (""_json) as inline functions, which call the parser. Every file
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

// Members that most files use are compiled once, in json_library.cc. (The whole class would include
// CBOR, BSON and other formats.)
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
// The library's own takes memory, for values of any depth: without memory it would end the program. hone's
// values are at most kJsonMaxDepth deep.
template <>
void nlohmann::json::json_value::destroy(nlohmann::detail::value_t);
template <>
void nlohmann::ordered_json::json_value::destroy(nlohmann::detail::value_t);
HONE_JSON_MEMBERS(extern, nlohmann::json)
HONE_JSON_MEMBERS(extern, nlohmann::ordered_json)

namespace hone {

using Json = nlohmann::json;                 // keys in sorted order
using OrderedJson = nlohmann::ordered_json;  // keys in the order of the file

struct TextPlace {
  int64_t line = 1, column = 1;  // both from 1; columns count bytes
};
// The place of each value of a text, by its JSON pointer ("/zero_optimization/stage"). If a key is
// given twice, its places are in the order of the text.
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
// The fault of a refused text, and its place.
struct JsonFault {
  ErrorCode code;  // H0001 or H0002
  std::string what;
  TextPlace place;
};
// Parses like parse_json below, but by these rules, and returns a fault in place of an Error; none:
// the text is accepted. For callers that write their own message.
std::optional<JsonFault> parse_json(std::string_view text, const JsonRules& rules, Json& value);
std::optional<JsonFault> parse_json(std::string_view text, const JsonRules& rules,
                                    OrderedJson& value);

// Parses one JSON value; text after it is an error. Messages begin with name:line:column; `name` is
// a file or "--flag". Accepts a UTF-8 byte order mark, NaN, Infinity and -Infinity. If a key is
// given twice, the last value counts. Integers beyond 64 bits become doubles; a lone surrogate
// escape becomes U+FFFD. Errors H0001 (syntax, bytes that are not UTF-8), H0002.
Result<Json> parse_json(std::string_view text, const std::string& name,
                        JsonPlaces* places = nullptr);
Result<OrderedJson> parse_ordered_json(std::string_view text, const std::string& name);

// read_file and parse_json; the name in messages is the path.
Result<Json> read_json_file(const std::string& path, JsonPlaces* places = nullptr);

struct JsonStyle {
  int indent = -1;     // -1: one line with ", " and ": "
  bool ascii = false;  // escape all that is not ASCII (Python's default)
};
// The text of a value. Doubles have the form of Python's repr: the shortest digits that read back
// as an equal double (5e-05, 1.0, NaN, Infinity).
// Bytes that are not UTF-8 become U+FFFD. No line break at the end.
std::string dump_json(const Json& value, JsonStyle style = {});
std::string dump_json(const OrderedJson& value, JsonStyle style = {});

// The member `key` of an object if it is a text, else "".
template <class J>
std::string text_at(const J& object, const char* key) {
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() && it->is_string() ? it->template get<std::string>() : "";
}
// The member `key` of an object, whatever its type; null if there is none.
template <class J>
const J& value_at(const J& object, const char* key) {
  static const J kNull = nullptr;
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it != object.end() ? *it : kNull;
}
// The member `key` of an object if it is a whole number, else 0.
template <class J>
int64_t whole_at(const J& object, const char* key) {
  const J& value = value_at(object, key);
  return value.is_number_integer() ? value.template get<int64_t>() : 0;
}

// The shortest text that reads back as the same double, in the form of Python's repr.
std::string double_text(double value);

}  // namespace hone
