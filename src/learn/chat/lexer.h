// Splits a chat template into the tokens of the language Jinja. Options as in Transformers: trim_blocks and
// lstrip_blocks are on, and a line break at the end of the template is dropped.
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
  int line = 1;  // 1-based line in the template
  // Set for the kinds data, name, op and text. For kind `text` it has no quotes, and its escapes are resolved.
  std::string text = "";
  int64_t integer = 0;  // of kind integer
  double real = 0;      // of kind real
};

// The tokens of a template. The last one has kind `end`. Errors: H2911 a syntax error; the message names the line.
Result<std::vector<Token>> tokens_of(std::string_view source);

// Error H2911 at a line of the template.
Error bad_template(std::string_view what, int line);

}  // namespace hone::chat
