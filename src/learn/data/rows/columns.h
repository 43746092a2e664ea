// Finds columns of a data file by name, and recognizes a first row that was taken as the header.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "learn/data/formats/rows.h"

namespace hone {

// The names of a column of classes that hone looks for, in order of preference.
inline constexpr std::array<const char*, 3> kClassColumns = {"label", "gold_label", "labels"};

// The index of the column `name`; none if there is no such column.
std::optional<size_t> place_of(const std::vector<std::string>& columns, const std::string& name);
// Error H2109: there is no column `name`. The message suggests the nearest name. `why` is appended to the message. It
// is "" or says what the column is for, such as ", which holds the labels". `where` is the file.
Error no_column(const std::vector<std::string>& columns, const std::string& name,
                const std::string& why, const std::string& where);

// If the name of a column looks like a value, the header is probably a row of data. Returns the reason why the name
// looks like a value, such as "'1' is a number"; "" if it does not. Numbers, texts longer than 60 bytes, and `labels`
// (the labels of the model) look like values. But if the columns are named 0, 1, 2, ..., as pandas names them, the
// result is "".
std::string value_in_header(const std::vector<std::string>& columns, size_t column,
                            std::span<const std::string> labels = {});
// The reason for the first column whose name looks like a value; "" if none does.
std::string value_in_header(const std::vector<std::string>& columns,
                            std::span<const std::string> labels = {});
// The text "the first line of FILE was taken as the header and looks like a row: WHY". "" if `why` is "", or if the
// file has no header line: its format is neither csv nor tsv, or options.column_names names the columns.
std::string lost_row_of(const std::string& file, const RowOptions& options, const std::string& why);
// The advice to the user that callers append to the text of lost_row_of.
inline constexpr const char* kLostRowTodo =
    "; `column_names` names the columns of files without a header line";

}  // namespace hone
