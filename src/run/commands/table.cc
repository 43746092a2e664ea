#include "run/commands/table.h"

#include "base/core/text.h"

namespace hone {
namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  return cell;
}

}  // namespace

std::string table_of(const std::vector<std::vector<std::string>>& lines,
                     const std::string& format) {
  std::string text;
  if (format == "csv") {
    for (const auto& line : lines) {
      std::vector<std::string> cells;
      for (const std::string& cell : line) cells.push_back(csv_cell(cell));
      text += join(cells, ",") + "\n";
    }
    return text;
  }
  if (format == "markdown") {
    for (size_t i = 0; i < lines.size(); ++i) {
      std::vector<std::string> cells;
      for (const std::string& cell : lines[i]) cells.push_back(markdown_cell(cell));
      text += "| " + join(cells, " | ") + " |\n";
      if (i > 0) continue;
      for (size_t c = 0; c < cells.size(); ++c) text += "|---";
      text += "|\n";
    }
    return text;
  }
  // Columns without any value are left out.
  std::vector<size_t> widths(lines[0].size(), 0);
  for (size_t c = 0; c < widths.size(); ++c) {
    for (size_t i = 1; i < lines.size(); ++i) widths[c] = std::max(widths[c], lines[i][c].size());
    if (widths[c] > 0) widths[c] = std::max(widths[c], lines[0][c].size());
  }
  for (const auto& line : lines) {
    std::string row;
    for (size_t c = 0; c < line.size(); ++c)
      if (widths[c] > 0) row += fmt::format("{:<{}}  ", line[c], widths[c]);
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace hone
