// Reads JSON with simdjson: typed access whose errors name the file and the key.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

using JsonElement = simdjson::dom::element;

// A parsed document. Its elements are valid as long as the document.
class JsonDocument {
 public:
  // Parses a document. `where` is the name of the file in messages. Errors: H2002 the text is not JSON; the message
  // names the line and column.
  static Result<JsonDocument> parse(std::string_view text, const std::string& where);
  JsonElement root() const { return root_; }

 private:
  std::unique_ptr<simdjson::dom::parser> parser_ = std::make_unique<simdjson::dom::parser>();
  JsonElement root_;
};

// A value in a document, with its place for messages: "tokenizer.json: pre_tokenizer.pretokenizers[1]".
struct JsonAt {
  JsonElement value;
  std::string where;

  // The element `v`, which has the index `index` in this array, with its place.
  JsonAt item(JsonElement v, size_t index) const;

  // The member `key`; none if it is absent or null, or if this is not an object.
  std::optional<JsonAt> find(std::string_view key) const;
  // The member `key`. Errors: H2002 it is absent or null.
  Result<JsonAt> get(std::string_view key) const;

  // Each returns a value of the type in its name: this value or, with `key`, that of the member `key`. boolean_or
  // returns `fallback` if the member is absent or null. Errors: H2002 the value has another type, or the member is
  // missing.
  Result<std::string_view> string() const;
  Result<int64_t> integer() const;
  Result<bool> boolean() const;
  Result<simdjson::dom::array> array() const;
  Result<simdjson::dom::object> object() const;
  Result<std::string_view> string(std::string_view key) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;

  Error expected(std::string_view what) const;  // error H2002: "expected a string, found 12"
};

// The text as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

// The contents of a file. Errors: H2001 the file cannot be read.
Result<std::string> read_text_file(const std::string& path);

}  // namespace hone
