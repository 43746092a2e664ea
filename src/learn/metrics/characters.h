// White space as Python's str treats it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// Whether str.split() and str.strip() treat the Unicode code point as white space. Some code points beyond ASCII are
// white space too.
bool is_python_space(uint32_t code);

std::string_view strip_right(std::string_view text);  // str.rstrip()
std::string_view strip(std::string_view text);        // str.strip()

// str.split(): sets `words` to the pieces between runs of white space, as views into `text`.
void split_words(std::string_view text, std::vector<std::string_view>& words);

}  // namespace hone
