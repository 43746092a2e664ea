// A file of numbered sections, each of which is read by itself.
//
//   u64 ends[count] | section 0 | section 1 | ...     section k ends at byte ends[k]
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Writes the file whole or not at all.
Status write_sections(const std::string& path, const std::vector<std::string>& sections);
// Section k of `count`. H0105 for a file that is shorter than its numbers.
Result<std::string> read_section(const std::string& path, int64_t count, int64_t k);

}  // namespace hone
