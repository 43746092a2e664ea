// Prints the tables of commands such as hone models list.
#pragma once

#include <string>
#include <vector>

#include "base/core/table.h"

namespace hone {

struct TableForm {
  std::string format = "text";  // "text", "csv" or "markdown"
  bool wide = false;            // for "text": do not cut columns to the width of the terminal
};
// The form that the settings request. Settings is a struct with the members `csv`, `format` and `wide`.
template <class Settings>
TableForm table_form(const Settings& s) {
  return {s.csv ? "csv" : s.format, s.wide};
}

// The text of a cell for a time: `utc`, a result of format_utc(), without the fraction of a second; "" for "".
std::string time_cell(const std::string& utc);

// Prints the tables that have rows, separated by blank lines. For the format "text", also logs which columns are left
// out, and the notes of the tables.
void print_tables(const std::vector<TextTable>& tables, const TableForm& form);
void print_table(const TextTable& table, const TableForm& form);

}  // namespace hone
