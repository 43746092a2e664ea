// The methods of Python's str for text in UTF-8. Positions and lengths count characters, not bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unicode/unicode.h"

namespace hone::chat {

bool is_space(uint32_t code);  // str.isspace() of one character
int64_t length_of(std::string_view text);
// The byte offset of character `at`. The result is text.size() if `at` is the number of characters.
size_t byte_of(std::string_view text, int64_t at);
// text[from:to:step]. `from` and `to` come from bounds_of().
std::string slice_text(std::string_view text, int64_t from, int64_t to, int64_t step);
// The bounds of a slice of a sequence of `length` elements, as Python's slice.indices(): resolves absent, negative and
// out-of-range bounds. `step` must not be 0.
struct Bounds {
  int64_t from, to, step;
  int64_t count() const;  // number of elements of the slice
};
Bounds bounds_of(std::optional<int64_t> from, std::optional<int64_t> to, int64_t step,
                 int64_t length);

// lstrip and rstrip: remove white space, or the characters in `chars`, from one end.
std::string_view strip_left(std::string_view text, std::optional<std::string_view> chars = {});
std::string_view strip_right(std::string_view text, std::optional<std::string_view> chars = {});
// split, or with from_right rsplit. Splits at `separator`, which must not be empty; if there is none, at runs of white
// space. Makes at most `most` cuts; -1: no limit.
std::vector<std::string_view> split_text(std::string_view text,
                                         std::optional<std::string_view> separator, int64_t most,
                                         bool from_right);
// splitlines(keep_ends), which knows the line breaks of Unicode.
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);
// Replaces at most `most` occurrences of `old` by `fresh`; -1: all.
std::string replace_text(std::string_view text, std::string_view old, std::string_view fresh,
                         int64_t most);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string title(std::string_view text);  // str.title(): words are runs of letters
// Jinja's filter title: words end at white space and at -({[<.
std::string filter_title(std::string_view text);
bool is_upper(std::string_view text);
bool is_lower(std::string_view text);
// True if each character has one of the `classes` (bits of base/unicode), and the text is not "".
bool all_of_class(std::string_view text, uint8_t classes);

std::string repr_text(std::string_view text);  // repr(): with quotes and escapes

}  // namespace hone::chat
