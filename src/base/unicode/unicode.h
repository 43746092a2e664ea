// UTF-8, the Unicode properties that tokenizers use, and the byte-level alphabet of GPT-2.
//
// A text may have bytes that are not UTF-8. Each such byte counts as one character of class kOther, so all bytes of a
// text reach a byte-level tokenizer unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/text.h"  // append_utf8

namespace hone {

// The class of a character: one of these values, except that CR and LF have kSpace | kNewline.
enum CharClass : uint8_t { kOther = 0, kLetter = 1, kNumber = 2, kSpace = 4, kNewline = 8 };

inline constexpr uint32_t kClassTableSize = 0x34000;  // code points from here on are kOther
inline constexpr uint32_t kInvalidChar = 0xFFFFFFFF;  // the code of a byte that is not UTF-8

// A table of kClassTableSize elements: the CharClass of each code point. kLetter is \p{L}, kNumber \p{N} and kSpace \s
// (White_Space) in the regular expressions of Hugging Face tokenizers 0.23 (Unicode 17). Built at the first call.
const uint8_t* char_classes();

struct Char {
  uint32_t code;  // the code point; kInvalidChar for a byte that does not start a valid sequence
  int length;     // the number of bytes; 1 for an invalid byte
};
// decode_char() for any first byte; p < end. Not inline.
Char decode_multibyte(const char* p, const char* end);

// The character that starts at p; p < end.
inline Char decode_char(const char* p, const char* end) {
  const auto c = static_cast<unsigned char>(*p);
  if (c < 0x80) return {c, 1};
  return decode_multibyte(p, end);
}

// The last character of [begin, end); begin < end.
Char decode_last_char(const char* begin, const char* end);

// The CharClass of a code point or kInvalidChar. `classes` is char_classes().
inline uint8_t class_of(const uint8_t* classes, uint32_t code) {
  return code < kClassTableSize ? classes[code] : static_cast<uint8_t>(kOther);
}

// Returns the text with U+FFFD in place of every maximal ill-formed part (Unicode standard, section 3.9), the result of
// Rust's from_utf8_lossy() and Python's decode(errors="replace").
std::string lossy_utf8(std::string_view bytes);

// The number of bytes at the end of `bytes`, 0 to 3, that begin a valid UTF-8 character whose other bytes are missing.
int incomplete_tail(std::string_view bytes);

// Returns true for \w of regular expressions: letters, marks, decimal digits, connector punctuation such as "_", and
// joiners.
bool is_word_char(uint32_t code);

bool is_mark_char(uint32_t code);  // true for accents and other marks: categories Mn, Mc and Me

// Appends the character in lower case, by Unicode 17. `code` is a code point, not kInvalidChar.
void append_lower_char(uint32_t code, std::string& out);
// Appends the text in lower case. Bytes that are not UTF-8 are appended unchanged.
void append_lowercase(std::string_view text, std::string& out);
// Appends the character in upper case. This may be several characters: "SS" for "ß", "FI" for the ligature "ﬁ".
void append_upper_char(uint32_t code, std::string& out);
// Returns true if Python's repr() shows the character unchanged. It escapes control, format, surrogate, private and
// unassigned characters, and separators other than the space.
bool is_printable_char(uint32_t code);

enum class NormalForm { kC, kD, kKC, kKD };  // NFC, NFD, NFKC, NFKD of Unicode
// The normal form of a text. Bytes that are not UTF-8 stay unchanged.
std::string normalize_text(std::string_view text, NormalForm form);
// A fast check: true if NFC does not change the text, false if it may.
bool surely_nfc(std::string_view text);

// The byte-level alphabet of GPT-2, which writes each byte as a printable character (a blank as "Ġ").
// Reference: github.com/openai/gpt-2, bytes_to_unicode.
uint32_t byte_to_char(uint8_t byte);
int char_to_byte(uint32_t code);  // -1: the character is not in the alphabet
// Appends the characters of the bytes, in UTF-8.
void append_byte_level(std::string_view bytes, std::string& out);
// Appends the bytes that the characters of `token` mean. If a character is not in the alphabet, appends `token`
// unchanged.
void append_byte_level_decoded(std::string_view token, std::string& out);

}  // namespace hone
