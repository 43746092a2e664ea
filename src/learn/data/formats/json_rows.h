// json and jsonl: from JSON values to rows.
#pragma once

#include "learn/data/formats/rows.h"

namespace hone {

// Turns one JSON value, the text of an element of an array or of a line, into a row. An object
// gives a cell a key; new keys are appended to `columns`, missing ones are null. A string gives
// the one column `text`. NaN, Infinity and -Infinity are numbers, as Python writes them. `line` and
// `column` say where the value begins.
// Errors: H2107 with the place of the fault, or for a value that is neither; H2108.
Status json_row(std::string_view value, const std::string& file, int64_t line, int64_t column,
                std::vector<std::string>& columns, Row& row);

// Appends the JSON value that begins at the next byte (white space before it is skipped) to
// `to`, without checking more than the balance of its brackets and quotes.
// false: nothing but white space is left. Errors: H2107 when it does not end.
Result<bool> take_json_value(ByteReader& in, std::string& to);

// Skips white space; the next byte (not consumed) or kEnd.
int skip_json_space(ByteReader& in);

// The rows from the place of `in` on: one value a line; or, if the first value has several lines,
// values of any number of lines.
Result<std::unique_ptr<RowReader>> open_json_values(ByteReader in);

}  // namespace hone
