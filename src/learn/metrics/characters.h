// Characters as Python's str sees them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// White space of str.split() and str.strip(), wider than ASCII's.
bool is_python_space(uint32_t code);

std::string_view strip_right(std::string_view text);
std::string_view strip(std::string_view text);

// str.split(): the pieces between runs of white space.
void split_words(std::string_view text, std::vector<std::string_view>& words);

}  // namespace hone
