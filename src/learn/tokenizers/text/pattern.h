// A pattern of a Split or Replace stage: a literal text, or a regular expression in the dialect of Hugging Face
// tokenizers (Oniguruma). Well-known expressions are matched by hand-written scanners (scanners.h), others by PCRE2.
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
  // Calls fn(begin, end) with the byte offsets of each match from left to right. Matches do not overlap. A match may be
  // empty (begin == end). An empty text has no matches.
  virtual void each_match(std::string_view text, FunctionRef<void(size_t, size_t)> fn) const = 0;
};

// Appends `text` with every match replaced by `content`.
void append_replaced(const Pattern& pattern, std::string_view text, std::string_view content,
                     std::string& out);

// Appends `text` with each byte `byte` replaced by `content`. A fast case, since the pattern is often a single space.
void append_replaced_byte(std::string_view text, char byte, std::string_view content,
                          std::string& out);

// Create a pattern from JSON, {"String": "..."} or {"Regex": "..."}, or from a regular expression; `where` is its place
// for messages. Errors: H2006 the expression does not compile; make_pattern also H2002 other JSON.
Result<std::unique_ptr<Pattern>> make_pattern(const JsonAt& spec);
Result<std::unique_ptr<Pattern>> make_regex(std::string_view regex, const std::string& where);

}  // namespace hone
