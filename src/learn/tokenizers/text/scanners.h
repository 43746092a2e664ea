// Hand-written matchers for the splitting patterns of well-known byte-level tokenizers. At every place of a text there
// is a match, so a text is a sequence of matches without gaps.
#pragma once

#include <string_view>

namespace hone {

// Returns the end of the match that starts at p. Requires p < end; the result is greater than p.
using Scanner = const char* (*)(const char* p, const char* end);

// GPT-2:  's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
const char* scan_gpt2(const char* p, const char* end);

// cl100k and Llama 3 (with digits = 3), and Qwen2 (with digits = 1):
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
//    ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
const char* scan_cl100k(const char* p, const char* end);
const char* scan_qwen2(const char* p, const char* end);

// The texts of these patterns in tokenizer files.
extern const std::string_view kGpt2Pattern, kCl100kPattern, kQwen2Pattern;

// The scanner that is equivalent to a regular expression; null if there is none.
Scanner scanner_for(std::string_view pattern);

}  // namespace hone
