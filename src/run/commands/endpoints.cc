// hone endpoints VERB: the endpoints of the registry and their servers.
#include "base/core/log.h"
#include "run/commands/command.h"
#include "run/commands/endpoint_server.h"
#include "run/commands/errors.h"
#include "run/commands/print_table.h"

namespace hone {
namespace {

struct EndpointsSettings {
#define HONE_SETTINGS "run/commands/endpoints.def"
#include "base/settings/fields.inc"
};

const char* server_state(const ServerFacts& f) {
  if (!f.alive) return "no server";
  return f.ready ? "ready" : "not ready";
}

OrderedJson endpoint_json(const Endpoint& e) {
  OrderedJson deployed = OrderedJson::array();
  for (const DeployedModel& d : e.deployed)
    deployed.push_back(
        {{"id", d.id}, {"model", d.model}, {"version", d.version}, {"traffic", d.traffic}});
  const ServerFacts facts = look_at_server(e);
  const bool has_process = facts.alive && e.server.pid > 0;
  return {{"endpoint", e.id},
          {"endpoint_name", e.display_name},
          {"url", e.address},
          {"deployed", deployed},
          {"state", server_state(facts)},
          {"pid", has_process ? OrderedJson(e.server.pid) : OrderedJson()},
          {"host", has_process ? OrderedJson(e.server.host) : OrderedJson()},
          {"serving", e.serving},
          {"created", e.created}};
}

// The facts of one endpoint, then the flags that hone serve is started with.
TextTable facts_of(const Endpoint& e) {
  TextTable table({{.name = "what"}, {.name = "value", .kind = Column::kSentence}});
  table.add({"name", e.display_name});
  const ServerFacts facts = look_at_server(e);
  table.add({"state", server_state(facts)});
  if (facts.alive && e.server.pid > 0) {
    table.add({"pid", std::to_string(e.server.pid)});
    table.add({"host", e.server.host});
  }
  table.add({"url", e.address});
  table.add({"deployed", deployed_text(e)});
  for (const auto& [name, value] : e.serving.items())
    table.add({"--" + name, value.is_string() ? value.get<std::string>() : dump_json(value)});
  table.add({"endpoint", e.id});
  table.add({"created", time_cell(e.created)});
  return table;
}

Status stop_endpoint(const EndpointsSettings& s, Registry& registry, const Endpoint& e) {
  const bool had_server = look_at_server(e).alive || !e.server.awaited.empty();
  HONE_TRY(end_server(registry, e, s.wait));
  if (had_server)
    log_info("{:<11} {}", "stopped", e.display_name);
  else
    log_info("{:<11} {} had none", "no server", e.display_name);
  return Ok{};
}

Result<int> run_endpoints(const std::vector<std::string>& args) {
  EndpointsSettings s;
  Schema schema("hone endpoints", "endpoints of the registry and their servers");
  s.bind(schema);
  for (const char* name : {"verb", "endpoint"}) schema.positional(name);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  Registry registry = HONE_TRY(Registry::open(s.registry));
  if (s.verb == "list") {
    TextTable table({{.name = "name", .kind = Column::kName},
                     {.name = "state"},
                     {.name = "url"},
                     {.name = "deployed", .kind = Column::kSentence},
                     {.name = "endpoint", .priority = 1}});
    for (const Endpoint& e : HONE_TRY(registry.endpoints())) {
      if (s.json)
        print_out(dump_json(endpoint_json(e)) + "\n");
      else
        table.add(
            {e.display_name, server_state(look_at_server(e)), e.address, deployed_text(e), e.id});
    }
    if (!s.json && table.empty())
      log_info("no endpoints in '{}'", registry.address());
    else if (!s.json)
      print_table(table, table_form(s));
    return kExitDone;
  }
  if (s.endpoint.empty())
    return Error(err::kMissingArgument,
                 fmt::format("'hone endpoints {}' needs an endpoint", s.verb))
        .todo("give its id or name; hone endpoints list shows all");
  const Endpoint e = HONE_TRY(registry.endpoint(s.endpoint));
  if (s.verb == "show" && s.json)
    print_out(dump_json(endpoint_json(e)) + "\n");
  else if (s.verb == "show")
    print_table(facts_of(e), table_form(s));
  if (s.verb == "show") return kExitDone;
  HONE_TRY(stop_endpoint(s, registry, e));
  if (s.verb != "delete") return kExitDone;
  HONE_TRY(registry.remove_endpoint(e.id));
  log_info("{:<11} {}", "deleted", e.display_name);
  return kExitDone;
}

}  // namespace

Command command_endpoints() {
  return {.name = "endpoints",
          .summary = "endpoints of the registry and their servers",
          .in = CommandGroup::kOperate,
          .run = run_endpoints};
}

}  // namespace hone
