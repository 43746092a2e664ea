// A pattern of a Split stage: a literal text, or a regular expression in the dialect of Hugging
// Face tokenizers, run by a hand-written scanner where there is one and by PCRE2 elsewhere.
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
  // Calls fn(begin, end) for each match from left to right; matches do not overlap. One between two
  // characters is empty: begin == end. An empty text has none.
  virtual void each_match(std::string_view text, FunctionRef<void(size_t, size_t)> fn) const = 0;
};

// Appends `text` with every match replaced by `content`.
void append_replaced(const Pattern& pattern, std::string_view text, std::string_view content,
                     std::string& out);

// The same for a pattern of one byte: spaces are frequent.
void append_replaced_byte(std::string_view text, char byte, std::string_view content,
                          std::string& out);

// spec: {"String": "..."} or {"Regex": "..."}.
Result<std::unique_ptr<Pattern>> make_pattern(const JsonAt& spec);
Result<std::unique_ptr<Pattern>> make_regex(std::string_view regex, const std::string& where);

}  // namespace hone
