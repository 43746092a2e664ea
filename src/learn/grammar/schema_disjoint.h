// Decides whether two parts of a schema exclude each other. oneOf needs this: exactly one of its parts may be valid.
#pragma once

#include <functional>
#include <optional>

#include "learn/grammar/schema_keys.h"

namespace hone {

// Returns the part that the $ref of a part refers to; none if it does not exist.
using ReferTo = std::function<std::optional<SchemaPart>(const SchemaPart&)>;

// True if certainly no value is valid for both parts: they allow different types, or different values by const and
// enum, or a property that both require has disjoint schemas. False if they overlap, or if it is not known.
bool are_disjoint(const SchemaPart& a, const SchemaPart& b, const ReferTo& refer);

}  // namespace hone
