// A template as tokens, with the environment of Transformers: trim_blocks, lstrip_blocks, no
// trailing line break. Reference: https://jinja.palletsprojects.com/en/stable/templates/
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone::chat {

enum class TokenKind : uint8_t {
  data,            // text between tags
  block_begin,     // {%
  block_end,       // %}
  variable_begin,  // {{
  variable_end,    // }}
  name,
  text,
  integer,
  real,
  op,  // "==", "(", "|"
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  int line = 1;
  std::string text = "";
  int64_t integer = 0;
  double real = 0;
};

// Ends with a token of kind end. H2911: with the line.
Result<std::vector<Token>> tokens_of(std::string_view source);

// H2911 at a line.
Error bad_template(std::string_view what, int line);

}  // namespace hone::chat
