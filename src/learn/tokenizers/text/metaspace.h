// Shared parts of the pre-tokenizer and the decoder "Metaspace", which write a space as "▁" (U+2581).
#pragma once

#include <string>
#include <string_view>

#include "base/core/error.h"
namespace hone {

struct JsonAt;  // json_dom.h

inline constexpr std::string_view kMetaspace = "\xE2\x96\x81";  // U+2581

struct Metaspace {
  enum Scheme { kAlways, kFirst, kNever };
  std::string replacement{kMetaspace};  // the character that replaces a space
  // Added tokens cut a text into parts. kAlways: each part gets the replacement in front; kFirst: only the part at the
  // start of the text; kNever: no part.
  Scheme scheme = kAlways;
  bool split = true;  // true: the text is split before each replacement
};

// Reads the members of a Metaspace stage, with prepend_scheme or the older add_prefix_space. Errors: H2002 a member has
// the wrong type; H2003 an unknown prepend_scheme.
Result<Metaspace> read_metaspace(const JsonAt& spec);

}  // namespace hone
