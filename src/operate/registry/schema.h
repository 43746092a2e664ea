// The tables of the registry, and how those of an earlier hone become those of this one.
#pragma once

#include "operate/registry/database.h"

namespace hone {

inline constexpr int64_t kRegistrySchema = 3;  // the number of migrations

// Makes what is missing, in one transaction. Errors: H3134, those of the database.
Status migrate_registry(Database& db);

}  // namespace hone
