// Small helpers for text, UTF-8, folders of the user, and whole files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

// "512 B", "1.5 KiB", "16.0 GiB": units are powers of 1024; one digit after the point.
std::string format_bytes(int64_t bytes);

// Removes blanks, tabs and line breaks at both ends. The result points into `s`.
std::string_view trim(std::string_view s);
// The parts between separators, also the empty ones; one empty part for "".
std::vector<std::string> split(std::string_view s, char separator);
// "a, b, c" for the parts a, b, c and the separator ", ".
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string to_lower(std::string_view s);  // ASCII letters only

// The longest prefix of at most `bytes` bytes that does not cut a UTF-8 character.
std::string utf8_prefix(std::string_view s, size_t bytes);
// The length in bytes of the UTF-8 character at the start of `s`; 0 if `s` is empty or does not start with one.
// Surrogates, overlong forms and code points above U+10FFFF are not characters.
int utf8_length(std::string_view s);
void append_utf8(std::string& out, uint32_t code_point);  // does not check the code point

// The value of an environment variable; "" if it is not set.
std::string environment(const char* name);

// The three functions below return paths and do not create the folders.

// The folder for files that hone can make again: $HONE_CACHE, else $XDG_CACHE_HOME/hone, else ~/.cache/hone.
std::string cache_folder();
// The folder for data that must be kept: $XDG_DATA_HOME/hone, else ~/.local/share/hone.
std::string user_data_folder();
// The folder for state that must be kept, such as logs of servers: $XDG_STATE_HOME/hone, else ~/.local/state/hone.
std::string user_state_folder();

// Removes slashes at the end: "a/b//" becomes "a/b". "/" and a scheme such as "s3://" stay.
std::string without_end_slash(std::string path);
// The last part of a path or URL: "b" for "a/b" and for "a/b/".
std::string last_part(const std::string& path);

// The bytes of the whole file. Error H0003 if it cannot be read, with the system's reason. For a URL, the errors are
// those of the function that read_urls_with() sets.
Result<std::string> read_file(const std::string& path);
// Sets the function that reads URLs, paths with "://", for read_file(). Null (the default): a URL is read as the path
// of a file.
void read_urls_with(Result<std::string> (*read)(const std::string& url));

}  // namespace hone
