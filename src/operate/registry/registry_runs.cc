// The registry opened; runs, and names.
#include <algorithm>
#include <cctype>

#include "base/core/text.h"
#include "operate/registry/errors.h"
#include "operate/registry/rows.h"
#include "operate/registry/schema.h"

namespace hone {
namespace {

std::string default_address() {
  if (std::string given = environment("HONE_REGISTRY"); !given.empty()) return given;
  return user_data_folder() + "/registry.db";
}

constexpr const char* kRunColumns =
    "id, name, task, params, metrics, data_hash, model_hash, status, started, ended, record";

RegisteredRun run_of_row(const SqlValues& row) {
  return {.id = sql_text(row[0]),
          .name = sql_text(row[1]),
          .task = sql_text(row[2]),
          .params = column_json(row[3]),
          .metrics = column_json(row[4]),
          .data_hash = sql_text(row[5]),
          .model_hash = sql_text(row[6]),
          .status = sql_text(row[7]),
          .started = sql_text(row[8]),
          .ended = sql_text(row[9]),
          .record = column_json(row[10])};
}

}  // namespace

Status check_registry_name(const std::string& what, const std::string& name) {
  constexpr size_t kMostBytes = 200;
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_.- ").find(c) != std::string_view::npos;
  };
  const bool begins = !name.empty() && std::isalnum(static_cast<unsigned char>(name[0]));
  if (begins && name.size() <= kMostBytes && std::all_of(name.begin(), name.end(), is_plain) &&
      name.back() != ' ')
    return Ok{};
  return Error(err::kRegistryName,
               fmt::format("'{}' cannot be the name of {}", utf8_prefix(name, kMostBytes), what))
      .todo(
          "begin with a letter or digit; letters, digits, blanks, '_', '.' and '-' may follow, "
          "up to 200 bytes in all, and no blank is last");
}

Result<Registry> Registry::open(const std::string& address) {
  const std::string whole = address.empty() ? default_address() : address;
  auto database = HONE_TRY(Database::open(whole));
  Registry registry(std::move(database), whole);
  HONE_TRY(migrate_registry(*registry.db_));
  return registry;
}

Status Registry::put_run(const RegisteredRun& r) {
  return db_->write([&]() -> Status {
    HONE_TRY(db_->run("DELETE FROM hone_runs WHERE id = ?", {r.id}));
    HONE_TRY(
        db_->run(fmt::format("INSERT INTO hone_runs({}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                             kRunColumns),
                 {r.id, r.name, r.task, json_column(r.params), json_column(r.metrics), r.data_hash,
                  r.model_hash, r.status, r.started, r.ended, json_column(r.record)}));
    return Ok{};
  });
}

Result<std::vector<RegisteredRun>> Registry::runs() {
  std::vector<RegisteredRun> all;
  for (const SqlValues& row : HONE_TRY(db_->run(
           fmt::format("SELECT {} FROM hone_runs ORDER BY started DESC, id", kRunColumns))))
    all.push_back(run_of_row(row));
  return all;
}

Result<RegisteredRun> Registry::run(const std::string& id) {
  const auto rows =
      HONE_TRY(db_->run(fmt::format("SELECT {} FROM hone_runs WHERE id = ?", kRunColumns), {id}));
  if (rows.empty())
    return not_registered(*db_, fmt::format("run '{}'", id),
                          "hone models show NAME lists the runs of a model");
  return run_of_row(rows[0]);
}

}  // namespace hone
