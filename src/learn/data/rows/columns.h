// Columns of a data file by their names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

std::optional<size_t> place_of(const std::vector<std::string>& columns, const std::string& name);
// H2109 with the nearest name. `why`: what the column is for, after a comma; `where`: the file.
Error no_column(const std::vector<std::string>& columns, const std::string& name,
                const std::string& why, const std::string& where);

}  // namespace hone
