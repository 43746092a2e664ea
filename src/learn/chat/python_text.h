// Methods of Python's str, over UTF-8. Positions count characters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unicode/unicode.h"

namespace hone::chat {

bool is_space(uint32_t code);  // str.isspace
int64_t length_of(std::string_view text);
// The bytes of character `at` onwards; at may be the length.
size_t byte_of(std::string_view text, int64_t at);
// text[from:to:step] with from and to as Python's slice.indices() gives them.
std::string slice_text(std::string_view text, int64_t from, int64_t to, int64_t step);
// slice.indices(): resolves absent, negative and out-of-range bounds. step is not 0.
struct Bounds {
  int64_t from, to, step;
  int64_t count() const;
};
Bounds bounds_of(std::optional<int64_t> from, std::optional<int64_t> to, int64_t step,
                 int64_t length);

// Whitespace, or the characters of `chars`.
std::string_view strip_left(std::string_view text, std::optional<std::string_view> chars = {});
std::string_view strip_right(std::string_view text, std::optional<std::string_view> chars = {});
// By whitespace runs, or by a separator that is not empty; at most `most` cuts, -1: all.
std::vector<std::string_view> split_text(std::string_view text,
                                         std::optional<std::string_view> separator, int64_t most,
                                         bool from_right);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);
std::string replace_text(std::string_view text, std::string_view old, std::string_view fresh,
                         int64_t most);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);  // str.title
std::string filter_title(
    std::string_view text);  // Jinja's filter: words end at whitespace and -({[<
bool is_upper(std::string_view text);
bool is_lower(std::string_view text);
bool all_of_class(std::string_view text, uint8_t classes);  // false for ""

std::string repr_text(std::string_view text);  // repr

}  // namespace hone::chat
