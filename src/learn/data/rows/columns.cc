#include "learn/data/rows/columns.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/formats/errors.h"

namespace hone {

std::optional<size_t> place_of(const std::vector<std::string>& columns, const std::string& name) {
  const auto at = std::find(columns.begin(), columns.end(), name);
  if (at == columns.end()) return {};
  return static_cast<size_t>(at - columns.begin());
}

Error no_column(const std::vector<std::string>& columns, const std::string& name,
                const std::string& why, const std::string& where) {
  const std::string near = nearest_name(name, columns);
  return Error(err::kNoColumn, fmt::format("the data has no column '{}'{}", name, why))
      .at(where)
      .todo(fmt::format("{}its columns are {}",
                        near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                        join(columns, ", ")));
}

}  // namespace hone
