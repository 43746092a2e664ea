// Columns of a data file by their names.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "learn/data/formats/rows.h"

namespace hone {

// Names of the column that holds the class of a row, best first.
inline constexpr std::array<const char*, 3> kClassColumns = {"label", "gold_label", "labels"};

std::optional<size_t> place_of(const std::vector<std::string>& columns, const std::string& name);
// H2109 with the nearest name. `why`: what the column is for, after a comma; `where`: the file.
Error no_column(const std::vector<std::string>& columns, const std::string& name,
                const std::string& why, const std::string& where);

// Tells what shows that the name of a column is a value, so that the header of the file is a row: "'1' is a number"; "": nothing
// does. Numbers, texts longer than 60 bytes and `labels`, those of the model, are values, unless all columns have their
// numbers from 0 as names: pandas writes them.
std::string value_in_header(const std::vector<std::string>& columns, size_t column,
                            std::span<const std::string> labels = {});
// The same for the first of all columns that has one.
std::string value_in_header(const std::vector<std::string>& columns,
                            std::span<const std::string> labels = {});
// "the first line of FILE was taken as the header and looks like a row: WHY"; "" if `why` is, or if no line of the file
// is its header: the format is neither csv nor tsv, or the columns are named by the options.
std::string lost_row_of(const std::string& file, const RowOptions& options, const std::string& why);
// Follows that text in notes.
inline constexpr const char* kLostRowTodo =
    "; `column_names` names the columns of files without a header line";

}  // namespace hone
