// A clean UTF-8 copy of a text file.
#pragma once

#include <string>
#include <vector>

#include "base/store/store.h"
#include "learn/data/formats/encoding.h"

namespace hone {

struct FixReport {
  std::string encoding;   // that was read: "utf-8", "utf-16", ...
  bool unpacked = false;  // the file was compressed
  bool byte_order_mark = false;
  int64_t repaired = 0;             // bytes read as cp1252 in a file that is otherwise UTF-8
  int64_t lost = 0;                 // bytes that are not text in any encoding, now U+FFFD
  std::vector<std::string> places;  // file:line:column of the first of both, at most 5
};

// Copies `from` to `to`: unpacked, as UTF-8, without byte order mark, every line end as it is.
// `encoding` is what the user names; when that is UTF-8, UTF-16 is recognised, and bytes that are
// not UTF-8 are taken for cp1252. Streams; `to` appears whole or not at all.
// Errors: those of bytes.h, H2108 for a text that the encoding named does not allow, H01xx.
Result<FixReport> fix_text(const std::string& from, const std::string& to, Charset encoding);

}  // namespace hone
