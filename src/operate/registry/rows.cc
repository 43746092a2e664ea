#include "operate/registry/rows.h"

#include <algorithm>

#include "base/core/text.h"
#include "operate/registry/errors.h"

namespace hone {

OrderedJson column_json(const SqlValue& value) {
  Result<OrderedJson> parsed = parse_ordered_json(sql_text(value), "registry");
  return parsed.ok() && parsed->is_object() ? std::move(*parsed) : OrderedJson::object();
}

OrderedJson column_list(const SqlValue& value) {
  Result<OrderedJson> parsed = parse_ordered_json(sql_text(value), "registry");
  return parsed.ok() && parsed->is_array() ? std::move(*parsed) : OrderedJson::array();
}

std::string labels_column(const Labels& labels) {
  OrderedJson all = OrderedJson::object();
  for (const auto& [key, value] : labels) all[key] = value;
  return json_column(all);
}

Labels column_labels(const SqlValue& value) {
  Labels labels;
  const OrderedJson all = column_json(value);
  for (const auto& [key, text] : all.items())
    if (text.is_string()) labels[key] = text.get<std::string>();
  return labels;
}

Result<int64_t> next_id(Database& db, const std::string& table) {
  return 1 + sql_number(HONE_TRY(db.run("SELECT COALESCE(MAX(id), 0) FROM " + table))[0][0]);
}

Error not_registered(const Database& db, const std::string& what, const std::string& todo) {
  return Error(err::kNotRegistered, "the registry has no " + what).at(db.shown()).todo(todo);
}

std::string names_that_are_there(const std::string& wanted, const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  if (names.empty()) return "";
  if (const std::string near = nearest_name(wanted, names); !near.empty())
    return fmt::format("'{}' is there", near);
  const std::vector<std::string> some(
      names.begin(), names.begin() + static_cast<long>(std::min(kMost, names.size())));
  return fmt::format("there {} {}{}", names.size() == 1 ? "is" : "are", join(some, ", "),
                     names.size() > kMost ? " ..." : "");
}

}  // namespace hone
