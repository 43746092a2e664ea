// Rows of token ids as a user gives them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// '5 6 7; 8 9', a .json file with a list of rows (or a golden with "sequences"), or a .jsonl file
// of {"ids": [...]}. Errors: H3007; those of reading a file.
Result<std::vector<std::vector<int32_t>>> read_ids(const std::string& text);

}  // namespace hone
