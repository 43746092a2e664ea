// Lists the files in a tar archive (POSIX ustar with pax headers, GNU's long names) without reading their contents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

struct TarEntry {
  std::string name;
  int64_t offset = 0, bytes = 0;  // offset and size of the file's content in the archive
};

// Reads an archive entry by entry, so that the caller can read the content of each file before the next entry.
class TarWalk {
 public:
  // `file` must outlive this object. `name` is the archive in messages. `at`: 0 to start with the first entry; at() of
  // an earlier walk to continue after the last entry of that walk.
  TarWalk(Reader& file, std::string name, int64_t at = 0)
      : file_(file), name_(std::move(name)), at_(at) {}
  // Moves to the next regular file and returns it; none at the end of the archive. Folders and links are skipped.
  // Errors: those of list_tar().
  Result<std::optional<TarEntry>> next();
  int64_t at() const { return at_; }  // offset in the archive after the last entry that next() read
  // Error H2966 for this archive, with the reason `why`.
  Error bad(const std::string& why) const;

 private:
  Status read_header(char type, int64_t at, int64_t bytes);

  Reader& file_;
  std::string name_;
  int64_t at_;
  std::string long_name_;  // of the next entry
  int64_t size_ = -1;      // of the next entry, from its pax header; -1: none
};

// All regular files in the order of the archive; folders and links are skipped. `name` is the archive in messages.
// Errors: H2966 a damaged or truncated archive; those of the reader.
Result<std::vector<TarEntry>> list_tar(Reader& file, const std::string& name);

}  // namespace hone
