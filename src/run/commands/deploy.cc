// hone deploy NAME: a version of a registered model answers at an endpoint. A server that runs takes it without
// losing a request; without one a server is started.

#include <algorithm>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "operate/serve/model_set.h"
#include "run/commands/endpoint_server.h"
#include "run/commands/errors.h"
#include "run/commands/serve_settings.h"
#include "run/commands/start_server.h"
#include "run/commands/step_results.h"

namespace hone {
namespace {

struct DeploySettings {
#define HONE_SETTINGS "run/commands/deploy.def"
#include "base/settings/fields.inc"
};

// The endpoint after the deployment: versions without a share go, and other models, for an endpoint answers with
// one.
Endpoint with_version(Endpoint e, const ModelVersion& v, int64_t traffic, const std::string& id) {
  const auto number = [](int64_t version) { return std::to_string(version); };
  Traffic now;
  std::erase_if(e.deployed, [&](const DeployedModel& d) { return d.model != v.model; });
  for (const DeployedModel& d : e.deployed) now[number(d.version)] += d.traffic;
  const Traffic after = with_share(now, number(v.number), traffic);
  for (DeployedModel& d : e.deployed) d.traffic = after.at(number(d.version));
  std::erase_if(e.deployed,
                [&](const DeployedModel& d) { return d.version == v.number || d.traffic == 0; });
  e.deployed.push_back({id, v.model, v.number, after.at(number(v.number)), ""});
  return e;
}

// The settings of hone serve that the flags give.
Result<OrderedJson> given_serving(const DeploySettings& s, const Schema& schema) {
  OrderedJson given = HONE_TRY(serving_of(s.serve_flags));
  if (schema.given("host")) given["host"] = s.host;
  if (schema.given("port")) given["port"] = s.port;
  return given;
}

// H3023: a server runs, and it has another value.
Status check_same(const Endpoint& e, const OrderedJson& given) {
  for (const auto& [name, value] : given.items()) {
    const OrderedJson now = served_value(e, name);
    if (now == value || (name == "port" && value == 0)) continue;
    return Error(err::kDeployDiffers,
                 fmt::format("the server of '{}' runs with {}={}, not {}={}", e.display_name, name,
                             value_text(now), name, value_text(value)))
        .at(e.address)
        .todo("leave the flag out, or add --take_over: another server takes its place");
  }
  if (!environment("HONE_API_KEY").empty() && !e.serving.value(kNeedsKey, false))
    return Error(err::kDeployDiffers,
                 fmt::format("the server of '{}' asks for no key", e.display_name))
        .at("HONE_API_KEY")
        .todo("add --take_over: another server takes its place and asks for it; or unset it");
  return Ok{};
}

// The registry's endpoint of this name or id, or a new one.
Endpoint endpoint_of(Registry& registry, const std::string& name, const std::string& model) {
  if (Result<Endpoint> there = registry.endpoint(name); there.ok()) return std::move(*there);
  Endpoint e;
  e.display_name = name, e.model = model;
  return e;
}

// Does what --check says. The version need not exist yet.
Result<int> check_endpoint(const DeploySettings& s, const Schema& schema) {
  Registry registry = HONE_TRY(Registry::open(s.registry));
  const std::string model = s.name.substr(0, s.name.find_first_of(":@")), own = s.endpoint_name;
  const Endpoint e = endpoint_of(registry, own.empty() ? model : own, model);
  const OrderedJson given = HONE_TRY(given_serving(s, schema));
  const bool runs = look_at_server(e).alive && !s.take_over;
  if (runs) HONE_TRY(check_same(e, given));
  HONE_TRY(check_key(e, given, runs));
  return kExitDone;
}

// Whether a name alone starts the endpoint as it was: it has no server, and had one with versions of this model. The
// first server of an endpoint may never have answered; its version is not kept.
bool starts_again(const Endpoint& e, const std::string& model) {
  const bool was_served = e.server.pid != 0 || e.server.awaited.empty();
  return was_served && !e.deployed.empty() &&
         std::ranges::all_of(e.deployed, [&](const DeployedModel& d) { return d.model == model; });
}

// The version with the largest share.
const DeployedModel& largest(const Endpoint& e) {
  return *std::ranges::max_element(e.deployed, {}, &DeployedModel::traffic);
}

void tell_deployed(const DeploySettings& s, const Endpoint& e, const DeployedModel& own,
                   const OrderedJson& replaced) {
  OrderedJson j{{"endpoint", e.id},        {"endpoint_name", e.display_name},
                {"url", e.address},        {"model", own.model},
                {"version", own.version},  {"traffic", own.traffic},
                {"deployed_model", own.id}};
  if (!replaced.empty()) j["replaced"] = replaced;
  const Json described = description_of_model(e, own.model);
  if (const std::string file = text_at(e.serving, "api_key_file"); !file.empty())
    j["key_file"] = file;
  for (const char* key : {"example", "route"})
    if (described.contains(key)) j[key] = OrderedJson(described[key]);
  if (s.json) return print_out(dump_json(j) + "\n");
  for (const std::string& line : endpoint_lines(j)) log_info("{}", line);
  if (e.deployed.size() > 1) log_info("{:<11} {}", "traffic", deployed_text(e));
  for (const OrderedJson& gone : replaced)
    log_info("{:<11} {}, which no longer answers", "replaces", gone.get<std::string>());
}

Result<int> run_deploy(const std::vector<std::string>& args) {
  DeploySettings s;
  Schema schema("hone deploy", "answer requests at an endpoint with a registered model");
  s.bind(schema);
  schema.positional("name");
  const auto check = [&]() -> Status {
    HONE_TRY(serving_of(s.serve_flags));
    return Ok{};
  };
  if (HONE_TRY(parse_settings(schema, args, check)).done) return kExitDone;
  if (s.check) return check_endpoint(s, schema);
  install_stop_handlers();
  Registry registry = HONE_TRY(Registry::open(s.registry));
  const ModelVersion v = HONE_TRY(s.version > 0 ? registry.version(s.name, s.version)
                                                : resolve_model(registry, s.name));
  const bool by_name = s.version == 0 && s.name == v.model;
  const std::string wanted = s.endpoint_name.empty() ? v.model : s.endpoint_name;
  Endpoint e = endpoint_of(registry, wanted, v.model);
  const OrderedJson given = HONE_TRY(given_serving(s, schema));
  const bool runs = look_at_server(e).alive;
  if (runs && !s.take_over) HONE_TRY(check_same(e, given));
  const bool has_server = runs && (!s.take_over || check_same(e, given).ok());
  const std::string id = new_numeric_id();
  // A server that runs has the last word: the registry says what it serves.
  if (has_server)
    HONE_TRY(ask_to_load(e, with_version(e, v, s.traffic, id).deployed.back()));
  else
    HONE_TRY(check_key(e, given, false));
  Endpoint before;
  bool again = false;
  // Loading takes time, in which another deployment may have ended.
  HONE_TRY(registry.database().write([&]() -> Status {
    before = endpoint_of(registry, wanted, v.model);
    again = by_name && !runs && !schema.given("traffic") && starts_again(before, v.model);
    e = again ? before : with_version(before, v, s.traffic, id);
    e.serving.update(given);
    if (!e.serving.contains("port")) e.serving["port"] = s.port;
    if (!has_server) e.server.awaited = id;
    e = HONE_TRY(registry.set_endpoint(e));
    return Ok{};
  }));
  if (!has_server)
    e = HONE_TRY(start_server(registry, before, e, {.take_over = s.take_over, .wait = s.wait}));
  const DeployedModel own = again ? largest(e) : e.deployed.back();
  tell_deployed(s, e, own, versions_gone(before, e));
  if (s.json) return kExitDone;
  if (again)
    log_info("{:<11} with the versions that it had; for the champion: hone deploy {}", "restarted",
             shell_word(v.model + "@" + kChampion));
  else
    tell_other_versions(registry, v, by_name);
  print_out(
      fmt::format("{}:{} answers at {}\nendpoint={}\n", own.model, own.version, e.address, e.id));
  return kExitDone;
}

}  // namespace

Command command_deploy() {
  return {.name = "deploy",
          .summary = "answer requests at an endpoint with a registered model",
          .in = CommandGroup::kOperate,
          .run = run_deploy};
}

}  // namespace hone
