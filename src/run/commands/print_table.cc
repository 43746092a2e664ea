#include "run/commands/print_table.h"

#include <algorithm>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "run/commands/command.h"

namespace hone {
namespace {

std::string table_text(const TextTable& table, const TableForm& form) {
  if (form.format == "csv") return table.csv();
  if (form.format == "markdown") return table.markdown();
  return table.text(form.wide ? 0 : output_width());
}

}  // namespace

std::string time_cell(const std::string& utc) {
  return utc.empty() ? "" : format_utc(parse_utc(utc));
}

void print_tables(const std::vector<TextTable>& tables, const TableForm& form) {
  std::string text;
  std::vector<std::string> missing;
  for (const TextTable& table : tables) {
    if (table.empty()) continue;
    text += (text.empty() ? "" : "\n") + table_text(table, form);
    if (form.format != "text" || form.wide) continue;
    for (const std::string& name : table.left_out(output_width()))
      if (std::find(missing.begin(), missing.end(), name) == missing.end()) missing.push_back(name);
  }
  print_out(text);
  if (!missing.empty())
    log_info("{:<11} {}: see {} with --wide, --csv or --json", "left out", join(missing, ", "),
             missing.size() == 1 ? "it" : "them");
  for (const TextTable& table : tables)
    if (!table.note().empty() && form.format == "text") log_info("{}", table.note());
}

void print_table(const TextTable& table, const TableForm& form) {
  if (table.empty() && form.format != "text") return print_out(table_text(table, form));
  print_tables({table}, form);
}

}  // namespace hone
