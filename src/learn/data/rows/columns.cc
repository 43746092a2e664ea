#include "learn/data/rows/columns.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/formats/bytes.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/parsed.h"

namespace hone {

constexpr size_t kShownBytes = 40;  // of a column's name

std::optional<size_t> place_of(const std::vector<std::string>& columns, const std::string& name) {
  const auto at = std::find(columns.begin(), columns.end(), name);
  if (at == columns.end()) return {};
  return static_cast<size_t>(at - columns.begin());
}

static bool are_numbered(const std::vector<std::string>& columns) {
  for (size_t c = 0; c < columns.size(); ++c)
    if (columns[c] != std::to_string(c)) return false;
  return true;
}

std::string value_in_header(const std::vector<std::string>& columns, size_t column,
                            std::span<const std::string> labels) {
  constexpr size_t kLongName = 60;
  if (are_numbered(columns)) return "";
  const std::string& name = columns[column];
  const std::string shown = preview(name, kShownBytes);
  if (std::find(labels.begin(), labels.end(), name) != labels.end())
    return fmt::format("'{}' is a label of the model", shown);
  if (parsed_finite(name)) return fmt::format("'{}' is a number", shown);
  return name.size() > kLongName ? fmt::format("'{}' is a long text", shown) : "";
}

std::string value_in_header(const std::vector<std::string>& columns,
                            std::span<const std::string> labels) {
  for (size_t c = 0; c < columns.size(); ++c)
    if (std::string why = value_in_header(columns, c, labels); !why.empty()) return why;
  return "";
}

std::string lost_row_of(const std::string& file, const RowOptions& options,
                        const std::string& why) {
  if (why.empty() || !options.column_names.empty()) return "";
  const auto format = find_format(file, options);
  if (!format.ok() || (format->name != "csv" && format->name != "tsv")) return "";
  return fmt::format("the first line of {} was taken as the header and looks like a row: {}", file,
                     why);
}

Error no_column(const std::vector<std::string>& columns, const std::string& name,
                const std::string& why, const std::string& where) {
  const std::string near = nearest_name(name, columns);
  std::vector<std::string> shown;
  for (const std::string& column : columns) shown.push_back(preview(column, kShownBytes));
  Error e(err::kNoColumn, fmt::format("the data has no column '{}'{}", name, why));
  e.at(where);
  if (!value_in_header(columns).empty())
    e.at("its first line was taken as the header, and looks like a row");
  return std::move(e.todo(fmt::format("{}its columns are {}",
                                      near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                                      join(shown, ", "))));
}

}  // namespace hone
