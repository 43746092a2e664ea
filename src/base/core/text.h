// Small helpers for text and files that every room needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

// "512 B", "1.5 KiB", "16.0 GiB": powers of 1024, one digit.
std::string format_bytes(int64_t bytes);

std::string_view trim(std::string_view s);
std::vector<std::string> split(std::string_view s, char separator);
// "a, b, c" with separator ", ".
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string to_lower(std::string_view s);  // ASCII letters only

// The longest prefix of at most `bytes` bytes that does not cut a UTF-8 character.
std::string utf8_prefix(std::string_view s, size_t bytes);
// Length in bytes of the UTF-8 character at the start of `s` (strict: no surrogates, no overlong
// forms, at most U+10FFFF), or 0 when there is none.
int utf8_length(std::string_view s);
void append_utf8(std::string& out, uint32_t code_point);

// A variable of the environment; "" if it is not set.
std::string environment(const char* name);
// The folder for files that can be made again: $HONE_CACHE, else $XDG_CACHE_HOME/hone, else
// ~/.cache/hone.
std::string cache_folder();
// The folders for files that must be kept. Data: $XDG_DATA_HOME/hone, else ~/.local/share/hone.
// State, such as logs of servers: $XDG_STATE_HOME/hone, else ~/.local/state/hone.
std::string user_data_folder();
std::string user_state_folder();

// "a/b" of "a/b//"; "/" stays.
std::string without_end_slash(std::string path);
// "b" of "a/b" and of "a/b/", a path or URL.
std::string last_part(const std::string& path);

// The whole file as bytes. Error H0003 with the reason of the system.
Result<std::string> read_file(const std::string& path);
// Sets the function by which read_file() reads a path with "://"; null (the default): such paths
// are files too.
void read_urls_with(Result<std::string> (*read)(const std::string& url));

}  // namespace hone
