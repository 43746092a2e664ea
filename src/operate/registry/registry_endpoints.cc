// Endpoints and what is deployed at them.
#include <random>

#include "operate/registry/errors.h"
#include "operate/registry/rows.h"

namespace hone {
namespace {

Result<OrderedJson> object_of(const SqlValue& value) {
  return parse_ordered_json(sql_text(value), "the registry's table hone_endpoints");
}

std::string text_of(const EndpointServer& s) {
  if (s == EndpointServer()) return "{}";
  return dump_json(OrderedJson{{"space", s.space},
                               {"host", s.host},
                               {"pid", s.pid},
                               {"start", s.start},
                               {"awaited", s.awaited}});
}

// Texts that look like secrets become '***'. Names such as api_key_file are those of settings.
std::string text_of_serving(OrderedJson serving) {
  for (auto& [name, value] : serving.items())
    if (value.is_string()) value = redact_text(value.get<std::string>());
  return dump_json(serving);
}

Result<std::vector<Endpoint>> select_endpoints(Database& db, const std::string& where,
                                               const SqlValues& values) {
  std::vector<Endpoint> all;
  for (const SqlValues& row :
       HONE_TRY(db.run("SELECT id, display_name, model, address, created, changed, "
                       "serving, server FROM hone_endpoints WHERE " +
                           where + " ORDER BY display_name",
                       values))) {
    Endpoint e{sql_text(row[0]),
               sql_text(row[1]),
               sql_text(row[2]),
               sql_text(row[3]),
               sql_text(row[4]),
               sql_text(row[5]),
               {}};
    e.serving = HONE_TRY(object_of(row[6]));
    const OrderedJson server = HONE_TRY(object_of(row[7]));
    e.server = {text_at(server, "space"), text_at(server, "host"), whole_at(server, "pid"),
                text_at(server, "start"), text_at(server, "awaited")};
    for (const SqlValues& d :
         HONE_TRY(db.run("SELECT id, model, version, traffic, created FROM hone_deployed "
                         "WHERE endpoint = ? ORDER BY position, created, id",
                         {e.id})))
      e.deployed.push_back(
          {sql_text(d[0]), sql_text(d[1]), sql_number(d[2]), sql_number(d[3]), sql_text(d[4])});
    all.push_back(std::move(e));
  }
  return all;
}

Status check_traffic(const Endpoint& e) {
  int64_t sum = 0;
  bool each = true;
  for (const DeployedModel& d : e.deployed) {
    sum += d.traffic;
    each = each && d.traffic >= 0 && d.traffic <= 100;
  }
  if (e.deployed.empty() || (each && sum == 100)) return Ok{};
  return Error(err::kTraffic,
               fmt::format("the traffic of endpoint '{}' is {} % in all", e.display_name, sum))
      .todo("give each deployed version a share from 0 to 100, 100 in all");
}

}  // namespace

std::string new_numeric_id() {
  static thread_local std::random_device machine;
  std::uniform_int_distribution<int64_t> numbers(int64_t{1000000000000000000},
                                                 int64_t{8999999999999999999});
  return std::to_string(numbers(machine));
}

Result<Endpoint> Registry::set_endpoint(const Endpoint& given) {
  if (!endpoint(given.display_name).ok())
    HONE_TRY(check_registry_name("an endpoint", given.display_name));
  HONE_TRY(check_traffic(given));
  Endpoint e = given;
  HONE_TRY(db_->write([&]() -> Status {
    const auto former =
        HONE_TRY(select_endpoints(*db_, e.id.empty() ? "display_name = ?" : "id = ?",
                                  {e.id.empty() ? e.display_name : e.id}));
    e.changed = registry_now();
    e.created = former.empty() ? e.changed : former[0].created;
    if (e.id.empty()) e.id = former.empty() ? new_numeric_id() : former[0].id;
    HONE_TRY(
        db_->run("INSERT INTO hone_endpoints(id, display_name, model, address, created, changed, "
                 "serving, server) VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET "
                 "display_name = excluded.display_name, model = excluded.model, address = "
                 "excluded.address, changed = excluded.changed, serving = excluded.serving, "
                 "server = excluded.server",
                 {e.id, e.display_name, e.model, redact_text(e.address), e.created, e.changed,
                  text_of_serving(e.serving), text_of(e.server)}));
    HONE_TRY(db_->run("DELETE FROM hone_deployed WHERE endpoint = ?", {e.id}));
    int64_t position = 0;
    for (DeployedModel& d : e.deployed) {
      HONE_TRY(version(d.model, d.version));
      if (d.id.empty()) d.id = new_numeric_id();
      if (d.created.empty()) d.created = e.changed;
      HONE_TRY(
          db_->run("INSERT INTO hone_deployed(id, endpoint, model, version, traffic, created, "
                   "position) VALUES(?, ?, ?, ?, ?, ?, ?)",
                   {d.id, e.id, d.model, d.version, d.traffic, d.created, position++}));
    }
    return Ok{};
  }));
  return e;
}

Result<std::vector<Endpoint>> Registry::endpoints() {
  std::vector<Endpoint> all;
  HONE_TRY(db_->read([&]() -> Status {
    all = HONE_TRY(select_endpoints(*db_, "1 = 1", {}));
    return Ok{};
  }));
  return all;
}

Result<Endpoint> Registry::endpoint(const std::string& wanted) {
  Endpoint found;
  HONE_TRY(db_->read([&]() -> Status {
    auto all = HONE_TRY(select_endpoints(*db_, "id = ?", {wanted}));
    if (all.empty()) all = HONE_TRY(select_endpoints(*db_, "display_name = ?", {wanted}));
    if (all.empty()) {
      std::vector<std::string> names;
      for (const Endpoint& e : HONE_TRY(select_endpoints(*db_, "1 = 1", {})))
        names.push_back(e.display_name);
      const std::string there = names_that_are_there(wanted, names);
      return not_registered(*db_, fmt::format("endpoint '{}'", wanted),
                            there.empty() ? "deploy a model first" : there);
    }
    found = std::move(all[0]);
    return Ok{};
  }));
  return found;
}

Status Registry::remove_endpoint(const std::string& wanted) {
  return db_->write([&]() -> Status {
    const std::string id = HONE_TRY(endpoint(wanted)).id;
    HONE_TRY(db_->run("DELETE FROM hone_deployed WHERE endpoint = ?", {id}));
    HONE_TRY(db_->run("DELETE FROM hone_endpoints WHERE id = ?", {id}));
    return Ok{};
  });
}

}  // namespace hone
