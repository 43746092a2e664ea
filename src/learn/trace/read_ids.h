// Reads rows of token ids that a user gives by --ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// `text` is one of:
//   '5 6 7; 8 9'         two rows; commas may separate ids
//   the path of x.json   a list of rows, or an object with such a list under "sequences"
//   the path of x.jsonl  one {"ids": [5, 6, 7]} a line
// Errors: H3007 `text` has another form, or an element is not a whole number; those of reading the file and its JSON.
Result<std::vector<std::vector<int32_t>>> read_ids(const std::string& text);

}  // namespace hone
