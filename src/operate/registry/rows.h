// Converts between values of SQL columns and the registry's types.
#pragma once

#include "base/core/clock.h"
#include "base/core/redact.h"
#include "operate/registry/registry.h"

namespace hone {

// The current time in the registry's form, "2026-05-04T12:30:05.123Z".
inline std::string registry_now() { return format_utc(system_clock().wall_seconds(), 3); }
// The text to store in a column that holds JSON, without secrets; "{}" for null.
inline std::string json_column(const OrderedJson& value) {
  return dump_json(redact_secrets(value.is_null() ? OrderedJson::object() : value));
}
// The JSON object in a column; an empty object if the column's text is not a JSON object.
OrderedJson column_json(const SqlValue& value);
OrderedJson column_list(const SqlValue& value);  // the JSON list in a column; else an empty list
std::string labels_column(const Labels& labels);
Labels column_labels(const SqlValue& value);
// The largest number in a table's column `id`, plus 1. Call it within a write transaction.
Result<int64_t> next_id(Database& db, const std::string& table);
// Returns the error H3135 "the registry has no <what>"; `todo` is its remedy.
Error not_registered(const Database& db, const std::string& what, const std::string& todo);
// A remedy for not_registered(): "'news' is there" if one of `names` is similar to `wanted`, else "there are news,
// weather". "" if `names` is empty.
std::string names_that_are_there(const std::string& wanted, const std::vector<std::string>& names);

}  // namespace hone
