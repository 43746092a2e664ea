// hone deploy NAME: a version of a registered model answers at an endpoint. A server that runs takes it without
// losing a request; without one a server is started.

#include "base/core/child.h"
#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/pipeline/runner.h"
#include "operate/serve/model_set.h"
#include "run/commands/endpoint_server.h"
#include "run/commands/errors.h"
#include "run/commands/serve_settings.h"
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

Result<Child> start_server(const DeploySettings& s, Registry& registry, const Endpoint& e) {
  std::vector<std::string> argv{own_program(), "serve", "--endpoint", e.id};
  if (s.take_over) argv.push_back("--take_over");
  // The address of the registry may have a password, which a list of processes must not show.
  ::setenv("HONE_REGISTRY", registry.whole_address().c_str(), 1);
  const std::string log = server_log(e);
  if (const size_t slash = log.rfind('/'); slash != log.npos)
    HONE_TRY(file_store().make_dirs(log.substr(0, slash)));
  const ChildStream to_log = {ChildStream::kAppend, log, 0600};
  Child server = HONE_TRY(spawn({.command = argv,
                                 .environment = {{kAwaitedVariable, e.server.awaited}},
                                 .in = {ChildStream::kNull},
                                 .out = to_log,
                                 .err = to_log,
                                 .group = ChildSpec::kOwnSession,
                                 .closes_files = true}));
  log_info("{:<11} a server, its log is {}", "started", log);
  return server;
}

Result<Endpoint> wait_until_ready(const DeploySettings& s, Registry& registry,
                                  const std::string& id, const Child& server) {
  const double end = system_clock().seconds() + s.wait;
  while (system_clock().seconds() < end) {
    const Endpoint e = HONE_TRY(registry.endpoint(id));
    const ServerFacts facts = look_at_server(e);
    if (facts.ready && (!s.take_over || facts.pid == server.pid)) return e;
    if (child_ended(server.pid)) {
      const auto log = read_file(server_log(e));
      const std::vector<std::string> said = lines_of_failure(server.error(), log.ok() ? *log : "");
      return Error(err::kDeployNotReady,
                   fmt::format("the server of the endpoint ended: {}", said.empty() ? "" : said[0]))
          .at(server_log(e))
          .todo(fmt::format("see its log and deploy again; to remove it: hone endpoints delete {}",
                            shell_word(e.display_name)));
    }
    if (stop_requested()) break;
    system_clock().sleep(0.1);
  }
  return Error(err::kDeployNotReady,
               fmt::format("the server of the endpoint is not ready after {} s", s.wait))
      .at(server_log(HONE_TRY(registry.endpoint(id))))
      .todo("see its log; if the model is only slow to load, give more time with --wait");
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
  const bool runs = look_at_server(e).alive && !s.take_over;
  if (runs) HONE_TRY(check_same(e, HONE_TRY(given_serving(s, schema))));
  HONE_TRY(check_key(e, runs));
  return kExitDone;
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
  const std::string wanted = s.endpoint_name.empty() ? v.model : s.endpoint_name;
  Endpoint e = endpoint_of(registry, wanted, v.model);
  const OrderedJson given = HONE_TRY(given_serving(s, schema));
  bool has_server = look_at_server(e).alive;
  if (has_server && !s.take_over) HONE_TRY(check_same(e, given));
  if (has_server && s.take_over) has_server = check_same(e, given).ok();
  const std::string id = new_numeric_id();
  // A server that runs has the last word: the registry says what it serves.
  if (has_server) HONE_TRY(ask_to_load(e, with_version(e, v, s.traffic, id).deployed.back()));
  OrderedJson replaced = OrderedJson::array();
  // Loading takes time, in which another deployment may have ended.
  HONE_TRY(registry.database().write([&]() -> Status {
    const Endpoint before = endpoint_of(registry, wanted, v.model);
    e = with_version(before, v, s.traffic, id);
    replaced = versions_gone(before, e);
    e.serving.update(given);
    if (!e.serving.contains("port")) e.serving["port"] = s.port;
    if (!has_server) e.server.awaited = id;
    e = HONE_TRY(registry.set_endpoint(e));
    return Ok{};
  }));
  if (!has_server)
    e = HONE_TRY(wait_until_ready(s, registry, e.id, HONE_TRY(start_server(s, registry, e))));
  const DeployedModel& own = e.deployed.back();
  OrderedJson j{{"endpoint", e.id},        {"endpoint_name", e.display_name},
                {"url", e.address},        {"model", v.model},
                {"version", v.number},     {"traffic", own.traffic},
                {"deployed_model", own.id}};
  if (!replaced.empty()) j["replaced"] = replaced;
  if (const Json example = example_of_model(e, v.model); !example.is_null())
    j["example"] = OrderedJson(example);
  if (s.json) {
    print_out(dump_json(j) + "\n");
    return kExitDone;
  }
  for (const std::string& line : endpoint_lines(j)) log_info("{}", line);
  if (e.deployed.size() > 1) log_info("{:<11} {}", "traffic", deployed_text(e));
  for (const OrderedJson& gone : replaced)
    log_info("{:<11} {}, which no longer answers", "replaces", gone.get<std::string>());
  tell_other_versions(registry, v, s.version == 0 && s.name == v.model);
  print_out(fmt::format("{}:{} answers at {}\nendpoint={}\n", v.model, v.number, e.address, e.id));
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
