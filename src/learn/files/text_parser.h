// Parses the rows of text_input.h: reads the text, or the pair of texts, from a line of jsonl. Each thread needs a
// parser of its own.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "learn/files/text_input.h"

namespace hone {

class TextParser {
 public:
  // The text of a row, and the second text if the row is a pair. The views are valid until the item changes, at most
  // until the next call of parse().
  struct Texts {
    std::string_view text;
    std::optional<std::string_view> pair;
  };
  // Parses a row; `from` are the options of its TextInput. If item.is_json is false, returns the texts of `item`.
  // Errors: H2107 the line is not a JSON object or string; H2108 it is not UTF-8; H3003 the row has no text under the
  // key from.column_name().
  Result<Texts> parse(const TextItem& item, const TextInputOptions& from);

 private:
  std::optional<Texts> parse_fast(const TextItem& item, const TextInputOptions& from);

  simdjson::dom::parser parser_;
  std::string text_, pair_;  // the texts of the last row, if parse_fast() could not read it
};

// The place of a row for messages: "rows.jsonl:7".
std::string place_of(const TextItem& item, const TextInputOptions& from);

}  // namespace hone
