// Text laid out for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// Words of `text` in lines of at most `width` columns, each after the first preceded by `indent`
// spaces.
std::string wrapped(std::string_view text, size_t indent, size_t width);

// A row of two columns, the second from `column` on; a `left` that is too wide has a line of its own.
std::string two_columns(const std::string& left, std::string_view text, size_t column,
                        size_t width);

}  // namespace hone
