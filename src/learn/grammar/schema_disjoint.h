// Whether two parts of a schema exclude each other, for oneOf.
#pragma once

#include <functional>
#include <optional>

#include "learn/grammar/schema_keys.h"

namespace hone {

// The part that a $ref refers to, if there is one.
using ReferTo = std::function<std::optional<SchemaPart>(const SchemaPart&)>;

// True if no value is valid by both: their types differ, their values by const and enum do, or the
// schemas of a property that both require do. False also if that is unknown.
bool are_disjoint(const SchemaPart& a, const SchemaPart& b, const ReferTo& refer);

}  // namespace hone
