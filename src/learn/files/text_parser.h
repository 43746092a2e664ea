// A line of jsonl as a text or a pair of texts. One parser for each thread.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "learn/files/text_input.h"

namespace hone {

class TextParser {
 public:
  // Views of a row live until the next row is parsed.
  struct Texts {
    std::string_view text;
    std::optional<std::string_view> pair;
  };
  // Errors: H2107, H2108; H3003 for a row that has no text under the key.
  Result<Texts> parse(const TextItem& item, const TextInputOptions& from);

 private:
  std::optional<Texts> parse_fast(const TextItem& item, const TextInputOptions& from);

  simdjson::dom::parser parser_;
  std::string text_, pair_;  // the texts of a row that parse_fast() cannot read
};

// "rows.jsonl:7"
std::string place_of(const TextItem& item, const TextInputOptions& from);

}  // namespace hone
