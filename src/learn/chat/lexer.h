// Splits a chat template into tokens, with the options that Transformers gives to Jinja:
// trim_blocks, lstrip_blocks, no trailing line break.
// Reference: https://jinja.palletsprojects.com/en/stable/templates/
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

// The tokens of a template; the last one is of kind `end`. H2911 names the line.
Result<std::vector<Token>> tokens_of(std::string_view source);

// Error H2911 at this line.
Error bad_template(std::string_view what, int line);

}  // namespace hone::chat
