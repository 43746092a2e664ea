// Models, their versions and aliases.
#include <algorithm>
#include <charconv>

#include "base/core/process.h"
#include "base/core/url.h"
#include "operate/registry/errors.h"
#include "operate/registry/rows.h"

namespace hone {
namespace {

constexpr const char* kVersionColumns =
    "model, number, source, hash, run_id, task, metrics, parent, data_hash, labels, created, "
    "evaluation, files";

ModelVersion version_of_row(const SqlValues& row) {
  return {.model = sql_text(row[0]),
          .number = sql_number(row[1]),
          .source = sql_text(row[2]),
          .hash = sql_text(row[3]),
          .files = column_list(row[12]),
          .run_id = sql_text(row[4]),
          .task = sql_text(row[5]),
          .metrics = column_json(row[6]),
          .evaluation = sql_text(row[11]),
          .parent = sql_text(row[7]),
          .data_hash = sql_text(row[8]),
          .labels = column_labels(row[9]),
          .created = sql_text(row[10])};
}

// Versions that a condition chooses, with their aliases.
Result<std::vector<ModelVersion>> select_versions(Database& db, const std::string& where,
                                                  const SqlValues& values) {
  std::vector<ModelVersion> all;
  for (const SqlValues& row :
       HONE_TRY(db.run(fmt::format("SELECT {} FROM hone_versions WHERE {} ORDER BY number",
                                   kVersionColumns, where),
                       values))) {
    ModelVersion v = version_of_row(row);
    for (const SqlValues& a : HONE_TRY(
             db.run("SELECT alias FROM hone_aliases WHERE model = ? AND version = ? ORDER BY alias",
                    {v.model, v.number})))
      v.aliases.push_back(sql_text(a[0]));
    all.push_back(std::move(v));
  }
  return all;
}

Result<std::vector<std::string>> model_names(Database& db) {
  std::vector<std::string> names;
  for (const SqlValues& row : HONE_TRY(db.run("SELECT name FROM hone_models ORDER BY name")))
    names.push_back(sql_text(row[0]));
  return names;
}

Status expect_model(Database& db, const std::string& name) {
  if (!HONE_TRY(db.run("SELECT 1 FROM hone_models WHERE name = ?", {name})).empty()) return Ok{};
  const std::string there = names_that_are_there(name, HONE_TRY(model_names(db)));
  return not_registered(
      db, fmt::format("model '{}'", name),
      there.empty() ? "register one: hone models register --name NAME --model FOLDER" : there);
}

Result<int64_t> alias_target(Database& db, const std::string& model, const std::string& alias) {
  const auto rows = HONE_TRY(
      db.run("SELECT version FROM hone_aliases WHERE model = ? AND alias = ?", {model, alias}));
  return rows.empty() ? 0 : sql_number(rows[0][0]);
}

Status put_alias(Database& db, const std::string& model, const AliasChange& c) {
  HONE_TRY(
      db.run("INSERT INTO hone_aliases(model, alias, version) VALUES(?, ?, ?) "
             "ON CONFLICT(model, alias) DO UPDATE SET version = excluded.version",
             {model, c.alias, c.version}));
  HONE_TRY(
      db.run("INSERT INTO hone_alias_changes(id, model, alias, version, change, reason, time) "
             "VALUES(?, ?, ?, ?, ?, ?, ?)",
             {HONE_TRY(next_id(db, "hone_alias_changes")), model, c.alias, c.version, c.change,
              redact_text(c.reason), registry_now()}));
  return Ok{};
}

}  // namespace

Result<ModelVersion> Registry::add_version(const ModelVersion& given, const RegisteredRun& run,
                                           const std::string& alias,
                                           const std::vector<std::string>& replaced) {
  if (!model(given.model).ok()) HONE_TRY(check_registry_name("a model", given.model));
  int64_t number = 0;
  HONE_TRY(db_->write([&]() -> Status {
    const auto same =
        HONE_TRY(db_->run("SELECT number FROM hone_versions WHERE model = ? AND hash = ?",
                          {given.model, given.hash}));
    if (!run.id.empty()) HONE_TRY(put_run(run));
    if (!same.empty()) {
      number = sql_number(same[0][0]);
      // A program that was killed between evaluation and registration has more values the second
      // time.
      for (const auto& [column, nothing, value] :
           {std::tuple{"metrics", "{}", json_column(given.metrics)},
            std::tuple{"evaluation", "", redact_text(given.evaluation)}}) {
        const bool any = std::find(replaced.begin(), replaced.end(), column) != replaced.end();
        const std::string where = any ? "" : fmt::format(" AND {} = '{}'", column, nothing);
        HONE_TRY(db_->run(fmt::format("UPDATE hone_versions SET {} = ? WHERE model = ? AND "
                                      "number = ?{}",
                                      column, where),
                          {value, given.model, number}));
      }
      if (is_url(given.source))
        HONE_TRY(db_->run(
            "UPDATE hone_versions SET source = ?, files = ? WHERE model = ? AND number = ?",
            {redact_text(given.source), dump_json(given.files), given.model, number}));
    } else {
      const std::string now = registry_now();
      HONE_TRY(db_->run(
          "INSERT INTO hone_models(name, description, labels, created) VALUES(?, '', '{}', ?) "
          "ON CONFLICT(name) DO NOTHING",
          {given.model, now}));
      number = 1 + sql_number(HONE_TRY(db_->run(
                       "SELECT COALESCE(MAX(number), 0) FROM hone_versions WHERE model = ?",
                       {given.model}))[0][0]);
      HONE_TRY(db_->run(
          fmt::format("INSERT INTO hone_versions({}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                      "?)",
                      kVersionColumns),
          {given.model, number, redact_text(given.source), given.hash, given.run_id, given.task,
           json_column(given.metrics), redact_text(given.parent), given.data_hash,
           labels_column(given.labels), now, redact_text(given.evaluation),
           dump_json(given.files)}));
    }
    return alias.empty() ? Status(Ok{}) : set_alias(given.model, alias, number);
  }));
  return version(given.model, number);
}

Result<std::vector<RegisteredModel>> Registry::models() {
  std::vector<RegisteredModel> all;
  HONE_TRY(db_->read([&]() -> Status {
    for (const std::string& name : HONE_TRY(model_names(*db_)))
      all.push_back(HONE_TRY(model(name)));
    return Ok{};
  }));
  return all;
}

Result<RegisteredModel> Registry::model(const std::string& name) {
  RegisteredModel m;
  HONE_TRY(db_->read([&]() -> Status {
    HONE_TRY(expect_model(*db_, name));
    const auto rows =
        HONE_TRY(db_->run("SELECT name, description, labels, created, (SELECT COUNT(*) FROM "
                          "hone_versions WHERE model = name) "
                          "FROM hone_models WHERE name = ?",
                          {name}));
    m = {sql_text(rows[0][0]), sql_text(rows[0][1]),   column_labels(rows[0][2]),
         sql_text(rows[0][3]), sql_number(rows[0][4]), {}};
    for (const SqlValues& row :
         HONE_TRY(db_->run("SELECT alias, version FROM hone_aliases WHERE model = ?", {name})))
      m.aliases[sql_text(row[0])] = sql_number(row[1]);
    return Ok{};
  }));
  return m;
}

Status Registry::describe(const std::string& name, const std::string& description,
                          const Labels& labels) {
  return db_->write([&]() -> Status {
    HONE_TRY(expect_model(*db_, name));
    HONE_TRY(db_->run("UPDATE hone_models SET description = ?, labels = ? WHERE name = ?",
                      {redact_text(description), labels_column(labels), name}));
    return Ok{};
  });
}

Result<std::vector<ModelVersion>> Registry::versions(const std::string& model) {
  std::vector<ModelVersion> all;
  HONE_TRY(db_->read([&]() -> Status {
    HONE_TRY(expect_model(*db_, model));
    all = HONE_TRY(select_versions(*db_, "model = ?", {model}));
    return Ok{};
  }));
  return all;
}

Result<ModelVersion> Registry::version(const std::string& model, int64_t number) {
  std::vector<ModelVersion> found;
  HONE_TRY(db_->read([&]() -> Status {
    HONE_TRY(expect_model(*db_, model));
    found = HONE_TRY(select_versions(*db_, "model = ? AND number = ?", {model, number}));
    if (!found.empty()) return Ok{};
    const int64_t last = sql_number(HONE_TRY(db_->run(
        "SELECT COALESCE(MAX(number), 0) FROM hone_versions WHERE model = ?", {model}))[0][0]);
    return not_registered(*db_, fmt::format("version {} of '{}'", number, model),
                          fmt::format("the newest one is {}:{}", model, last));
  }));
  return std::move(found[0]);
}

Result<ModelVersion> Registry::aliased(const std::string& model, const std::string& alias) {
  ModelVersion found;
  HONE_TRY(db_->read([&]() -> Status {
    HONE_TRY(expect_model(*db_, model));
    const int64_t number = HONE_TRY(alias_target(*db_, model, alias));
    if (number == 0) {
      std::vector<std::string> names;
      for (const auto& [name, at] : HONE_TRY(this->model(model)).aliases) names.push_back(name);
      const std::string there = names_that_are_there(alias, names);
      return not_registered(*db_, fmt::format("alias '{}' of '{}'", alias, model),
                            there.empty()
                                ? fmt::format("set it: hone models promote {}:VERSION --alias {}",
                                              shell_word(model), alias)
                                : there);
    }
    found = HONE_TRY(version(model, number));
    return Ok{};
  }));
  return found;
}

Status Registry::set_alias(const std::string& model, const std::string& alias, int64_t number,
                           const std::string& reason) {
  HONE_TRY(check_registry_name("an alias", alias));
  return db_->write([&]() -> Status {
    HONE_TRY(version(model, number));
    if (HONE_TRY(alias_target(*db_, model, alias)) == number) return Ok{};
    return put_alias(*db_, model, {alias, number, "set", reason, {}});
  });
}

Result<ModelVersion> Registry::roll_back(const std::string& model, const std::string& alias,
                                         const std::string& reason) {
  ModelVersion now;
  HONE_TRY(db_->write([&]() -> Status {
    now = HONE_TRY(aliased(model, alias));
    // The former versions of the alias; each rollback removes the last one.
    std::vector<int64_t> former;
    for (const AliasChange& c : HONE_TRY(alias_changes(model))) {
      if (c.alias != alias) continue;
      if (c.change == "set")
        former.push_back(c.version);
      else if (!former.empty())
        former.pop_back();
    }
    if (former.size() < 2)
      return Error(err::kNoFormerVersion, fmt::format("'{}' of '{}' has no version before {}",
                                                      alias, model, now.reference()))
          .at(db_->shown())
          .todo(fmt::format("name the version: hone models promote {}:VERSION", shell_word(model)));
    HONE_TRY(put_alias(*db_, model, {alias, former[former.size() - 2], "rollback", reason, {}}));
    now = HONE_TRY(aliased(model, alias));
    return Ok{};
  }));
  return now;
}

Result<std::vector<AliasChange>> Registry::alias_changes(const std::string& model) {
  std::vector<AliasChange> all;
  for (const SqlValues& row : HONE_TRY(db_->run("SELECT alias, version, change, reason, time FROM "
                                                "hone_alias_changes WHERE model = ? ORDER BY id",
                                                {model})))
    all.push_back({sql_text(row[0]), sql_number(row[1]), sql_text(row[2]), sql_text(row[3]),
                   sql_text(row[4])});
  return all;
}

Result<Decision> Registry::record(const Decision& given, const std::string& alias) {
  Decision d = given;
  HONE_TRY(db_->write([&]() -> Status {
    HONE_TRY(version(d.model, d.version));
    const int64_t deployed = HONE_TRY(alias_target(*db_, d.model, alias));
    if (deployed != d.against)
      return Error(err::kDecisionOutdated,
                   fmt::format("'{}' of '{}' names version {} now; the decision compared with {}",
                               alias, d.model, deployed, d.against))
          .at(db_->shown())
          .todo("decide again: nothing was changed");
    d.id = HONE_TRY(next_id(*db_, "hone_decisions"));
    d.time = registry_now();
    HONE_TRY(db_->run(
        "INSERT INTO hone_decisions(id, model, version, against, verdict, reason, evidence, time) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
        {d.id, d.model, d.version, d.against, d.verdict, redact_text(d.reason),
         json_column(d.evidence), d.time}));
    return d.verdict == "promote" ? set_alias(d.model, alias, d.version, d.reason) : Status(Ok{});
  }));
  return d;
}

Result<std::vector<Decision>> Registry::decisions(const std::string& model) {
  std::vector<Decision> all;
  for (const SqlValues& row : HONE_TRY(db_->run("SELECT id, model, version, against, verdict, "
                                                "reason, evidence, time FROM hone_decisions "
                                                "WHERE model = ? ORDER BY id DESC",
                                                {model})))
    all.push_back({sql_number(row[0]), sql_text(row[1]), sql_number(row[2]), sql_number(row[3]),
                   sql_text(row[4]), sql_text(row[5]), column_json(row[6]), sql_text(row[7])});
  return all;
}

Result<ModelVersion> resolve_model(Registry& registry, const std::string& text) {
  ModelVersion found;
  HONE_TRY(registry.database().read([&]() -> Status {
    if (const size_t at = text.rfind('@'); at != std::string::npos) {
      found = HONE_TRY(registry.aliased(text.substr(0, at), text.substr(at + 1)));
      return Ok{};
    }
    if (const size_t colon = text.rfind(':'); colon != std::string::npos) {
      int64_t number = 0;
      const char* end = text.data() + text.size();
      const auto [stopped, failed] = std::from_chars(text.data() + colon + 1, end, number);
      if (failed == std::errc() && stopped == end && number > 0) {
        found = HONE_TRY(registry.version(text.substr(0, colon), number));
        return Ok{};
      }
      return not_registered(registry.database(), fmt::format("version '{}'", text),
                            "write NAME, NAME@alias or NAME:3");
    }
    const RegisteredModel model = HONE_TRY(registry.model(text));
    const auto champion = model.aliases.find(kChampion);
    if (champion != model.aliases.end()) {
      found = HONE_TRY(registry.version(text, champion->second));
      return Ok{};
    }
    std::vector<ModelVersion> all = HONE_TRY(registry.versions(text));
    if (all.empty())
      return not_registered(registry.database(), fmt::format("version of '{}'", text),
                            "register one");
    found = std::move(all.back());
    return Ok{};
  }));
  return found;
}

}  // namespace hone
