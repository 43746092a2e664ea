// Shared parts of the pre-tokenizer and the decoder "Metaspace".
#pragma once

#include <string>
#include <string_view>

#include "base/core/error.h"
namespace hone {

struct JsonAt;  // json_dom.h

inline constexpr std::string_view kMetaspace = "\xE2\x96\x81";  // U+2581

struct Metaspace {
  enum Scheme { kAlways, kFirst, kNever };
  std::string replacement{kMetaspace};  // one character
  Scheme scheme = kAlways;              // the parts of a text that get one in front
  bool split = true;
};

// The members of a stage of either kind, in the new or the old spelling.
Result<Metaspace> read_metaspace(const JsonAt& spec);

}  // namespace hone
