// Writes a clean UTF-8 copy of a text file.
#pragma once

#include <string>
#include <vector>

#include "base/store/store.h"
#include "learn/data/formats/encoding.h"

namespace hone {

struct FixReport {
  std::string encoding;          // the encoding in which the file was read: "utf-8", "utf-16", ...
  bool unpacked = false;         // true: the file was compressed
  bool byte_order_mark = false;  // true: the file had a byte order mark
  int64_t repaired = 0;  // bytes that were read as cp1252, in a file that is otherwise UTF-8
  int64_t lost = 0;      // bytes that are not text in any encoding; U+FFFD replaces them
  // "file:line:column" of the first repaired or lost bytes, at most 5.
  std::vector<std::string> places;
};

// Copies the file `from` to the file `to`, uncompressed, as UTF-8 and without a byte order mark. Line ends stay as they
// are. `encoding`: the encoding that the user names. If it is UTF-8, a file in UTF-16 is recognized and read as UTF-16,
// and bytes that are not UTF-8 are read as cp1252. Reads and writes line by line. `to` appears only when it is
// complete; after an Error it does not exist or keeps its old content. Errors: those of bytes.h; H2108
// the text is not valid in the named encoding; those of the store.
Result<FixReport> fix_text(const std::string& from, const std::string& to, Charset encoding);

}  // namespace hone
