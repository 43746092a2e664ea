// UTF-8 and the few Unicode properties that tokenizers ask for.
//
// Text may hold bytes that are not UTF-8: every such byte counts as one character of class kOther,
// so that all bytes of a text reach the byte-level encoder unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/text.h"  // append_utf8

namespace hone {

// Bits of a character's class; a line break (CR, LF) has kSpace and kNewline.
enum CharClass : uint8_t { kOther = 0, kLetter = 1, kNumber = 2, kSpace = 4, kNewline = 8 };

inline constexpr uint32_t kClassTableSize = 0x34000;  // above it every character is kOther
inline constexpr uint32_t kInvalidChar = 0xFFFFFFFF;

// Class of each code point below kClassTableSize: \p{L}, \p{N} and \s (White_Space) as the regular
// expressions of Hugging Face tokenizers 0.23 see them (Unicode 17). Built at the first call.
const uint8_t* char_classes();

struct Char {
  uint32_t code;  // kInvalidChar for a byte that starts no valid sequence
  int length;     // bytes, 1 for an invalid byte
};
Char decode_multibyte(const char* p, const char* end);

// The character at p < end.
inline Char decode_char(const char* p, const char* end) {
  const auto c = static_cast<unsigned char>(*p);
  if (c < 0x80) return {c, 1};
  return decode_multibyte(p, end);
}

// The last character of [begin, end), which is not empty.
Char decode_last_char(const char* begin, const char* end);

inline uint8_t class_of(const uint8_t* classes, uint32_t code) {
  return code < kClassTableSize ? classes[code] : static_cast<uint8_t>(kOther);
}

// Text with every maximal ill-formed part replaced by U+FFFD (Unicode 3.9, as Rust and Python do).
std::string lossy_utf8(std::string_view bytes);

// Bytes at the end of `bytes` that are the beginning of a longer valid sequence: 0 to 3.
int incomplete_tail(std::string_view bytes);

// \w: alphabetic, mark, decimal digit, connector, joiner.
bool is_word_char(uint32_t code);

bool is_mark_char(uint32_t code);  // accents and other marks: categories Mn, Mc and Me

// Appends the character in lower case, by Unicode 17.
void append_lower_char(uint32_t code, std::string& out);
// Appends the text in lower case; bytes that are not UTF-8 stay.
void append_lowercase(std::string_view text, std::string& out);
// Appends the character in upper case, "SS" for "ß" and likewise for ligatures.
void append_upper_char(uint32_t code, std::string& out);
// Whether Python's repr() leaves the character as it is: neither control, format, surrogate,
// private, unassigned, nor a separator other than the space.
bool is_printable_char(uint32_t code);

enum class NormalForm { kC, kD, kKC, kKD };
// Normal form of a text; invalid bytes stay as they are.
std::string normalize_text(std::string_view text, NormalForm form);
// True when NFC leaves the text unchanged for sure; false = unknown.
bool surely_nfc(std::string_view text);

// The byte-level alphabet of GPT-2: each byte as a printable character.
// Reference: github.com/openai/gpt-2, bytes_to_unicode.
uint32_t byte_to_char(uint8_t byte);
int char_to_byte(uint32_t code);  // -1 when the character stands for no byte
void append_byte_level(std::string_view bytes, std::string& out);
// Bytes that a byte-level token stands for; its own bytes when one character is not of the
// alphabet.
void append_byte_level_decoded(std::string_view token, std::string& out);

}  // namespace hone
