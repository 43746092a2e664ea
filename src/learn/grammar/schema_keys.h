// The keys of a JSON schema that hone knows, and the types of values that they apply to.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

// A part of a schema, with its place as a JSON pointer.
struct SchemaPart {
  const OrderedJson* schema;
  std::string place;

  // A member, null if it is absent.
  const OrderedJson& at(const char* key) const { return value_at(*schema, key); }
  bool has(const char* key) const { return schema->contains(key); }
  SchemaPart member(const std::string& key) const { return member(key, schema->at(key)); }
  SchemaPart member(const std::string& key, const OrderedJson& value) const;  // of that key
  SchemaPart item(const std::string& key, size_t i) const;
};

Error schema_refused(const SchemaPart& part, const std::string& what);  // H2511
Error bad_schema(const SchemaPart& part, const std::string& what);      // H2512

// H2511: a key is unknown or not supported; H2512: the part is not an object.
Status check_schema_keys(const SchemaPart& part);
// H2511: besides `key` and those of `more` the part has keys that change which documents are valid.
Status check_alone(const SchemaPart& part, const char* key, const std::set<std::string>& more = {});

// The types that a part without $ref, enum, const and combinations allows: those of `type`, else those that its keys
// apply to, else all ("null", "boolean", "integer", "number", "string", "array", "object"). H2512: `type` is wrong.
Result<std::vector<std::string>> schema_types(const SchemaPart& part);

// A whole number of at least 0; `absent` if there is no such key. H2512.
Result<int64_t> schema_count(const SchemaPart& part, const char* key, int64_t absent);

}  // namespace hone
