// Tables of the commands that list things.
#pragma once

#include <string>
#include <vector>

namespace hone {

// Lines of cells, the first one the header; as many cells in each. `format`: "csv", "markdown" or text in
// aligned columns, where columns without any value are left out.
std::string table_of(const std::vector<std::vector<std::string>>& lines, const std::string& format);

}  // namespace hone
