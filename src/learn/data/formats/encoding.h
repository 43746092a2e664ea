// Text in an encoding other than UTF-8: converted to UTF-8 if the user names the encoding. UTF-16
// and UTF-32 are recognised without a name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "learn/data/formats/bytes.h"

namespace hone {

// kUtf16 takes its byte order from the byte order mark; without a mark it is little endian.
enum class Charset { kUtf8, kUtf16, kUtf16Le, kUtf16Be, kCp1252, kLatin1 };

// Names users type for --encoding, in any case and with '-', '_' or nothing between the parts.
// Errors: H2116 with the nearest.
Result<Charset> encoding_of(std::string_view name);
const char* encoding_name(Charset encoding);  // as --encoding takes it

// The text of `source` as UTF-8, streamed; a byte order mark stays. A place that the encoding does
// not allow is error H2108, given after all text before it; for UTF-8 the source itself.
std::unique_ptr<Source> as_utf8(std::unique_ptr<Source> source, Charset encoding);

bool is_utf32(std::string_view head);  // by its byte order mark
// H2108 when the first bytes of a file, of name `file`, are those of a UTF-16 or UTF-32 text.
Status check_not_utf16(std::string_view head, const std::string& file);

// H2108 when `text`, which begins at line:column of the file, is not UTF-8; says what it looks
// like.
Status check_utf8(std::string_view text, const std::string& file, int64_t line, int64_t column);

// The character of a cp1252 byte, 0 for the five bytes that have none.
char32_t cp1252_character(unsigned char byte);

}  // namespace hone
