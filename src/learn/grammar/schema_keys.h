// The keys of JSON schemas that hone supports, and the types of values that they apply to.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

// A part of a schema, with its place as a JSON pointer ("#/properties/age") for messages. The whole schema must outlive
// the SchemaPart, which points into it.
struct SchemaPart {
  const OrderedJson* schema;
  std::string place;

  // The member `key`; a JSON null if it is absent.
  const OrderedJson& at(const char* key) const { return value_at(*schema, key); }
  bool has(const char* key) const { return schema->contains(key); }
  // The member `key`, which must exist, with its place.
  SchemaPart member(const std::string& key) const { return member(key, schema->at(key)); }
  // The member `key`, whose value is `value`, with its place. For callers that already have the value.
  SchemaPart member(const std::string& key, const OrderedJson& value) const;
  // Element i of the array that is the value of `key`, with its place.
  SchemaPart item(const std::string& key, size_t i) const;
};

// Error H2511 at the place of the part.
Error schema_refused(const SchemaPart& part, const std::string& what);
// Error H2512 at the place of the part.
Error bad_schema(const SchemaPart& part, const std::string& what);

// Checks the keys of a part. Errors: H2511 a key is unknown or not supported; H2512 the part is not an object.
Status check_schema_keys(const SchemaPart& part);
// Checks that the part has no keys except `key`, those of `more`, and keys such as title that do not affect which
// documents are valid. Errors: H2511 it has another key.
Status check_alone(const SchemaPart& part, const char* key, const std::set<std::string>& more = {});

// The types of values that a part without $ref, enum, const, anyOf, oneOf and allOf allows: those in `type`; else those
// that its keys apply to; else all ("null", "boolean", "integer", "number", "string", "array", "object"). Errors: H2512
// `type` has an unknown name.
Result<std::vector<std::string>> schema_types(const SchemaPart& part);

// The value of a key that must be a whole number of at least 0; `absent` if there is no such key. Errors: H2512 the
// value is not such a number.
Result<int64_t> schema_count(const SchemaPart& part, const char* key, int64_t absent);

}  // namespace hone
