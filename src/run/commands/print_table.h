// Tables of the commands that list things.
#pragma once

#include <string>
#include <vector>

#include "base/core/table.h"

namespace hone {

struct TableForm {
  std::string format = "text";  // "text", "csv" or "markdown"
  bool wide = false;            // text: not fitted to the terminal
};
// The settings of table.def and --format.
template <class Settings>
TableForm table_form(const Settings& s) {
  return {s.csv ? "csv" : s.format, s.wide};
}

// "2026-05-04T12:30:05Z" of a time with parts of a second; "" of none.
std::string time_cell(const std::string& utc);

// Prints those that have rows, a blank line between them, then logs which columns a text leaves out, and the notes.
void print_tables(const std::vector<TextTable>& tables, const TableForm& form);
void print_table(const TextTable& table, const TableForm& form);

}  // namespace hone
