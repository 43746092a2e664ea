#include "run/commands/models_endpoints.h"

#include <algorithm>

#include "base/core/log.h"
#include "base/core/process.h"
#include "run/commands/command.h"
#include "run/commands/endpoint_server.h"

namespace hone {
namespace {

std::string served_text(const Endpoint& e) {
  std::string text;
  for (const DeployedModel& d : e.deployed)
    text += fmt::format("{}{}:{} ({} %)", text.empty() ? "" : ", ", d.model, d.version, d.traffic);
  return text;
}

bool serves_only(const Endpoint& e, const ModelVersion& v) {
  return e.deployed.size() == 1 && e.deployed[0].version == v.number;
}

Status deploy(Registry& registry, const ModelVersion& v, const EndpointsOfModel& how,
              std::vector<std::string> at) {
  // The address of the registry may have a password.
  ::setenv("HONE_REGISTRY", registry.whole_address().c_str(), 1);
  at.insert(at.begin(), v.reference());
  if (how.json) at.push_back("--json");
  HONE_TRY(run_command_named("deploy", at));
  return Ok{};
}

}  // namespace

Status follow_alias(Registry& registry, const ModelVersion& v, const EndpointsOfModel& how) {
  bool any = false;
  for (const Endpoint& e : HONE_TRY(registry.endpoints())) {
    if (std::none_of(e.deployed.begin(), e.deployed.end(),
                     [&](const DeployedModel& d) { return d.model == v.model; }))
      continue;
    any = true;
    const char* state = look_at_server(e).alive ? "answers with" : "has no server, and is to serve";
    if (serves_only(e, v)) {
      log_info("{:<11} {} {} {}", "endpoint", e.display_name, state, v.reference());
    } else if (how.deploys) {
      HONE_TRY(deploy(registry, v, how, {"--endpoint_name", e.id}));
    } else {
      log_info("{:<11} {} still {} {}; change it: hone deploy {} --endpoint_name {}", "endpoint",
               e.display_name, state, served_text(e), shell_word(v.reference()),
               shell_word(e.display_name));
    }
  }
  if (!any && how.deploys) return deploy(registry, v, how, {});
  if (!any)
    log_info("{:<11} none serves {}; deploy it: hone deploy {}", "endpoint", v.model,
             shell_word(v.reference()));
  return Ok{};
}

}  // namespace hone
