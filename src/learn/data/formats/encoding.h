// Converts text in another encoding to UTF-8, if the user names the encoding with --encoding. Text in UTF-16 or UTF-32
// without --encoding is an error that names the encoding.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "learn/data/formats/bytes.h"

namespace hone {

// kUtf16 takes its byte order from the byte order mark; without a mark it is little endian.
enum class Charset { kUtf8, kUtf16, kUtf16Le, kUtf16Be, kCp1252, kLatin1 };

// The encoding for a value of --encoding, such as "utf-16", in any case, with '-', '_' or nothing between the parts.
// Errors: H2116 an unknown name; the message suggests the nearest known one.
Result<Charset> encoding_of(std::string_view name);
const char* encoding_name(Charset encoding);  // the value of --encoding: "utf-16-le"

// A source of the same text in UTF-8, converted while it is read. For kUtf8 this is `source` itself. A byte order
// mark becomes that of UTF-8. If there are bytes that the encoding does not allow, read() first returns all text before
// them, then H2108.
std::unique_ptr<Source> as_utf8(std::unique_ptr<Source> source, Charset encoding);

bool is_utf32(std::string_view head);  // true if `head` begins with the byte order mark of UTF-32
// Checks the first bytes of a file. Errors: H2108 they look like UTF-16 or UTF-32. `file` is the name for the message.
Status check_not_utf16(std::string_view head, const std::string& file);

// Errors: H2108 `text` is not UTF-8; the message names the place of the bad byte and the encoding that it looks like.
// `line` and `column` are the place in the file at which `text` begins.
Status check_utf8(std::string_view text, const std::string& file, int64_t line, int64_t column);

// The Unicode character of a cp1252 byte; 0 for the five bytes that are unassigned.
char32_t cp1252_character(unsigned char byte);

}  // namespace hone
