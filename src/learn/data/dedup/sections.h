// A file of numbered sections of bytes, each of which can be read without the others.
//
//   u64 ends[count] | section 0 | section 1 | ...     section k ends before byte ends[k] of the file
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Writes the file completely or not at all. `path` may be a path or URL of any store. Errors: those of the store.
Status write_sections(const std::string& path, const std::vector<std::string>& sections);
// Reads section k, from 0, of a file of `count` sections. Errors: H0105 the file ends before the section does; those of
// the store.
Result<std::string> read_section(const std::string& path, int64_t count, int64_t k);

}  // namespace hone
