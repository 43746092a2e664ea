#include "operate/registry/schema.h"

#include "operate/registry/errors.h"

namespace hone {
namespace {

// One entry a version: the statements that migrate from the version before. Published entries never
// change. The types exist in both SQLite and PostgreSQL; JSON is stored as text.
const std::vector<std::vector<const char*>>& migrations() {
  static const std::vector<std::vector<const char*>> all = {
      {
          R"(CREATE TABLE hone_runs(
  id TEXT PRIMARY KEY, name TEXT NOT NULL, task TEXT NOT NULL, params TEXT NOT NULL, metrics TEXT NOT NULL,
  data_hash TEXT NOT NULL, model_hash TEXT NOT NULL, status TEXT NOT NULL, started TEXT NOT NULL,
  ended TEXT NOT NULL, record TEXT NOT NULL))",
          R"(CREATE TABLE hone_models(
  name TEXT PRIMARY KEY, description TEXT NOT NULL, labels TEXT NOT NULL, created TEXT NOT NULL))",
          R"(CREATE TABLE hone_versions(
  model TEXT NOT NULL REFERENCES hone_models(name), number BIGINT NOT NULL, source TEXT NOT NULL,
  hash TEXT NOT NULL, run_id TEXT NOT NULL, task TEXT NOT NULL, metrics TEXT NOT NULL, parent TEXT NOT NULL,
  data_hash TEXT NOT NULL, labels TEXT NOT NULL, created TEXT NOT NULL,
  PRIMARY KEY(model, number), UNIQUE(model, hash)))",
          R"(CREATE TABLE hone_aliases(
  model TEXT NOT NULL, alias TEXT NOT NULL, version BIGINT NOT NULL, PRIMARY KEY(model, alias),
  FOREIGN KEY(model, version) REFERENCES hone_versions(model, number)))",
          R"(CREATE TABLE hone_alias_changes(
  id BIGINT PRIMARY KEY, model TEXT NOT NULL, alias TEXT NOT NULL, version BIGINT NOT NULL,
  change TEXT NOT NULL, reason TEXT NOT NULL, time TEXT NOT NULL,
  FOREIGN KEY(model, version) REFERENCES hone_versions(model, number)))",
          R"(CREATE TABLE hone_decisions(
  id BIGINT PRIMARY KEY, model TEXT NOT NULL, version BIGINT NOT NULL, against BIGINT NOT NULL,
  verdict TEXT NOT NULL, reason TEXT NOT NULL, evidence TEXT NOT NULL, time TEXT NOT NULL,
  FOREIGN KEY(model, version) REFERENCES hone_versions(model, number)))",
          R"(CREATE TABLE hone_endpoints(
  id TEXT PRIMARY KEY, display_name TEXT NOT NULL UNIQUE, model TEXT NOT NULL,
  address TEXT NOT NULL, created TEXT NOT NULL, changed TEXT NOT NULL))",
          R"(CREATE TABLE hone_deployed(
  id TEXT PRIMARY KEY, endpoint TEXT NOT NULL REFERENCES hone_endpoints(id), model TEXT NOT NULL,
  version BIGINT NOT NULL, traffic BIGINT NOT NULL, created TEXT NOT NULL,
  FOREIGN KEY(model, version) REFERENCES hone_versions(model, number)))",
      },
      {"ALTER TABLE hone_versions ADD COLUMN evaluation TEXT NOT NULL DEFAULT ''"},
      {"ALTER TABLE hone_deployed ADD COLUMN position BIGINT NOT NULL DEFAULT 0"},
      {"ALTER TABLE hone_endpoints ADD COLUMN serving TEXT NOT NULL DEFAULT '{}'",
       "ALTER TABLE hone_endpoints ADD COLUMN server TEXT NOT NULL DEFAULT '{}'"},
      {"ALTER TABLE hone_versions ADD COLUMN files TEXT NOT NULL DEFAULT '[]'"}};
  return all;
}

Result<int64_t> version_of(Database& db) {
  if (!HONE_TRY(db.has_table("hone_registry"))) return 0;
  const auto rows = HONE_TRY(db.run("SELECT version FROM hone_registry"));
  return rows.empty() ? 0 : sql_number(rows[0][0]);
}

Error is_newer(const Database& db, int64_t version) {
  return Error(err::kRegistryVersion,
               fmt::format("the registry has tables of version {}, this hone knows {}", version,
                           kRegistrySchema))
      .at(db.shown())
      .todo("use the hone that wrote it or a newer one, or name another registry with --registry");
}

}  // namespace

Status migrate_registry(Database& db) {
  HONE_BUG_IF(static_cast<int64_t>(migrations().size()) != kRegistrySchema,
              "kRegistrySchema is not up to date");
  const int64_t seen = HONE_TRY(version_of(db));
  if (seen > kRegistrySchema) return is_newer(db, seen);
  if (seen == kRegistrySchema) return Ok{};
  return db.write([&]() -> Status {
    // Another program may have done it since.
    const int64_t version = HONE_TRY(version_of(db));
    if (version > kRegistrySchema) return is_newer(db, version);
    if (version == 0) {
      HONE_TRY(db.run("CREATE TABLE hone_registry(version BIGINT NOT NULL)"));
      HONE_TRY(db.run("INSERT INTO hone_registry VALUES(0)"));
    }
    for (size_t i = static_cast<size_t>(version); i < migrations().size(); ++i)
      for (const char* statement : migrations()[i]) HONE_TRY(db.run(statement));
    HONE_TRY(db.run("UPDATE hone_registry SET version = ?", {kRegistrySchema}));
    return Ok{};
  });
}

}  // namespace hone
