// The tables of the registry, and the migrations from older versions.
#pragma once

#include "operate/registry/database.h"

namespace hone {

inline constexpr int64_t kRegistrySchema = 5;  // the number of migrations

// Runs the missing migrations in one transaction. Errors: H3134, those of the database.
Status migrate_registry(Database& db);

}  // namespace hone
