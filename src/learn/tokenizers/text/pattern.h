// The pattern of a tokenizer stage such as Split or Replace: a literal text, or a regular expression in the dialect of
// Hugging Face tokenizers (Oniguruma). Hand-written scanners (scanners.h) match well-known expressions; PCRE2 matches
// all others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/error.h"
#include "base/core/threads.h"

namespace hone {

struct JsonAt;  // json_dom.h

class Pattern {
 public:
  virtual ~Pattern() = default;
  // Calls fn(begin, end) for each match from left to right. The match has the bytes [begin, end) of `text`. Matches do
  // not overlap. A match may be empty (begin == end). An empty text has no matches.
  virtual void each_match(std::string_view text, FunctionRef<void(size_t, size_t)> fn) const = 0;
};

// Appends `text` to `out`, with every match of the pattern replaced by `content`.
void append_replaced(const Pattern& pattern, std::string_view text, std::string_view content,
                     std::string& out);

// Appends `text` to `out`, with every byte that equals `byte` replaced by `content`. Faster than append_replaced(), for
// patterns that are a single byte, such as a space.
void append_replaced_byte(std::string_view text, char byte, std::string_view content,
                          std::string& out);

// make_pattern creates a pattern from the JSON {"String": "..."} or {"Regex": "..."}. make_regex creates one from a
// regular expression; `where` is the place of the expression, for messages. Errors: H2006 the expression does not
// compile; make_pattern also: H2002 the JSON has another form, or the String is empty.
Result<std::unique_ptr<Pattern>> make_pattern(const JsonAt& spec);
Result<std::unique_ptr<Pattern>> make_regex(std::string_view regex, const std::string& where);

}  // namespace hone
