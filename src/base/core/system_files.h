// Reads small files of Linux in /proc and /sys. A file that cannot be read reads as "".
#pragma once

#include <string>
#include <string_view>

namespace hone {

std::string system_file(const std::string& path);  // the whole text
std::string first_line(const std::string& path);   // the first line, without its line break
// Finds the first line "key : value" that has this key, and returns its value; "" if no line has it.
std::string system_value(const std::string& path, std::string_view key);

}  // namespace hone
