// The files in a tar archive (POSIX ustar with pax headers, GNU's long names), without reading their contents.
#pragma once

#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

struct TarEntry {
  std::string name;
  int64_t offset = 0, bytes = 0;  // of the content in the archive
};

// Regular files, in their order; folders and links are left out. `name` appears in messages. Errors: H2966 a damaged or
// truncated archive; those of the reader.
Result<std::vector<TarEntry>> list_tar(Reader& file, const std::string& name);

}  // namespace hone
