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

// Names that are values: a number among other names, or a long text.
static bool looks_like_a_row(const std::vector<std::string>& columns) {
  constexpr size_t kLongName = 60;
  const auto is_number = [](const std::string& name) { return parsed_finite(name).has_value(); };
  if (std::all_of(columns.begin(), columns.end(), is_number))
    return false;  // as pandas numbers them
  return std::any_of(columns.begin(), columns.end(), [&](const std::string& name) {
    return name.size() > kLongName || is_number(name);
  });
}

Error no_column(const std::vector<std::string>& columns, const std::string& name,
                const std::string& why, const std::string& where) {
  const std::string near = nearest_name(name, columns);
  std::vector<std::string> shown;
  for (const std::string& column : columns) shown.push_back(preview(column, kShownBytes));
  Error e(err::kNoColumn, fmt::format("the data has no column '{}'{}", name, why));
  e.at(where);
  if (looks_like_a_row(columns))
    e.at("its first line was taken as the header, and looks like a row");
  return std::move(e.todo(fmt::format("{}its columns are {}",
                                      near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                                      join(shown, ", "))));
}

}  // namespace hone
