// Conversions between column values and the registry's types.
#pragma once

#include "base/core/clock.h"
#include "base/core/redact.h"
#include "operate/registry/registry.h"

namespace hone {

// The present time in the registry's form.
inline std::string registry_now() { return format_utc(system_clock().wall_seconds(), 3); }
// The text of a column with JSON, without secrets; {} for null.
inline std::string json_column(const OrderedJson& value) {
  return dump_json(redact_secrets(value.is_null() ? OrderedJson::object() : value));
}
// The JSON object in a column; an empty object if the column has another text.
OrderedJson column_json(const SqlValue& value);
OrderedJson column_list(const SqlValue& value);  // the JSON list in a column; else an empty list
std::string labels_column(const Labels& labels);
Labels column_labels(const SqlValue& value);
// The largest number in a table's column `id`, plus 1. Call it within a write transaction.
Result<int64_t> next_id(Database& db, const std::string& table);
// Error H3135: "the registry has no <what>"; `todo` is its remedy.
Error not_registered(const Database& db, const std::string& what, const std::string& todo);
// A remedy for not_registered(): "'news' is there" if a name is close to `wanted`, else "there are news, weather"; ""
// if there are no names.
std::string names_that_are_there(const std::string& wanted, const std::vector<std::string>& names);

}  // namespace hone
