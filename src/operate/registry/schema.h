// Creates the tables of the registry, and migrates them from older versions of hone.
#pragma once

#include "operate/registry/database.h"

namespace hone {

inline constexpr int64_t kRegistrySchema = 5;  // version of the tables: the number of migrations

// Runs the missing migrations in one transaction. Errors: H3134 a newer hone made the tables; those of the database.
Status migrate_registry(Database& db);

}  // namespace hone
