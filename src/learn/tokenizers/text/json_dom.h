// Reading JSON with simdjson: typed access whose errors name the file and the key.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

using JsonElement = simdjson::dom::element;

// A parsed document; elements stay valid as long as it lives and is not parsed into again.
class JsonDocument {
 public:
  // `where` is the file's name for errors, which give line:column too.
  static Result<JsonDocument> parse(std::string_view text, const std::string& where);
  JsonElement root() const { return root_; }

 private:
  std::unique_ptr<simdjson::dom::parser> parser_ = std::make_unique<simdjson::dom::parser>();
  JsonElement root_;
};

// A place in a document: "tokenizer.json: pre_tokenizer.pretokenizers[1]".
struct JsonAt {
  JsonElement value;
  std::string where;

  JsonAt item(JsonElement v, size_t index) const;

  // The member, or nothing when it is absent or null or this is not an object.
  std::optional<JsonAt> find(std::string_view key) const;
  // The member; an error when it is absent or null.
  Result<JsonAt> get(std::string_view key) const;

  Result<std::string_view> string() const;
  Result<int64_t> integer() const;
  Result<bool> boolean() const;
  Result<simdjson::dom::array> array() const;
  Result<simdjson::dom::object> object() const;
  Result<std::string_view> string(std::string_view key) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;

  Error expected(std::string_view what) const;  // "expected a string, found 12"
};

// The text as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);

// A whole file. kTokenizerMissing when it cannot be opened.
Result<std::string> read_text_file(const std::string& path);

}  // namespace hone
