// Reads Linux's small files: /proc and /sys.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// A file that is not there reads as "".
std::string system_file(const std::string& path);
std::string first_line(const std::string& path);
// Value of the first line "key : value".
std::string system_value(const std::string& path, std::string_view key);

}  // namespace hone
