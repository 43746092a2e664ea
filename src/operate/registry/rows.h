// Conversions between column values and the registry's types.
#pragma once

#include "base/core/clock.h"
#include "base/core/redact.h"
#include "operate/registry/registry.h"

namespace hone {

inline std::string registry_now() { return format_utc(system_clock().wall_seconds(), 3); }
inline std::string json_column(const OrderedJson& value) {
  return dump_json(redact_secrets(value.is_null() ? OrderedJson::object() : value));
}
// The inverse of json_column(); an empty object if the text was changed by others.
OrderedJson column_json(const SqlValue& value);
OrderedJson column_list(const SqlValue& value);  // like column_json, for an array
std::string labels_column(const Labels& labels);
Labels column_labels(const SqlValue& value);
// The next number of a table's column `id`; call within a write transaction.
Result<int64_t> next_id(Database& db, const std::string& table);
// H3135: `what` ("model", "version") is missing; `todo` names existing ones.
Error not_registered(const Database& db, const std::string& what, const std::string& todo);
// "there is news, weather" for the remedy of that error, with the nearest name first.
std::string names_that_are_there(const std::string& wanted, const std::vector<std::string>& names);

}  // namespace hone
