// Decides whether two parts of a schema exclude each other. oneOf needs this: exactly one of its parts may be valid.
#pragma once

#include <functional>
#include <optional>

#include "learn/grammar/schema_keys.h"

namespace hone {

// Returns the part that the $ref of a part refers to; none if it does not exist.
using ReferTo = std::function<std::optional<SchemaPart>(const SchemaPart&)>;

// True if it is certain that no value is valid for both parts. This is known in three cases: the parts have no type in
// common; both have const or enum, without a common value; or a property that both require has disjoint schemas. False
// if the parts overlap, or if it is not known.
bool are_disjoint(const SchemaPart& a, const SchemaPart& b, const ReferTo& refer);

}  // namespace hone
