// Hand-written matchers for the splitting patterns of the well-known byte-level tokenizers. Each
// covers every character of a text, so that a text is a row of matches.
#pragma once

#include <string_view>

namespace hone {

// The end of the match that starts at p; begin <= p < end and the result is > p.
using Scanner = const char* (*)(const char* p, const char* end);

// GPT-2:  's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
const char* scan_gpt2(const char* p, const char* end);

// cl100k, Llama 3 (digits 3) and Qwen2 (digits 1):
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
//    ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
const char* scan_cl100k(const char* p, const char* end);
const char* scan_qwen2(const char* p, const char* end);

// The texts of these patterns, as files write them.
extern const std::string_view kGpt2Pattern, kCl100kPattern, kQwen2Pattern;

// The scanner that does the same as a regular expression, or nullptr.
Scanner scanner_for(std::string_view pattern);

}  // namespace hone
