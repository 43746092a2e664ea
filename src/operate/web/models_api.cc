// Serves the models of the registry, with versions, aliases and their sources.
#include "operate/registry/errors.h"
#include "operate/registry/registry_json.h"
#include "operate/web/api.h"

namespace hone {

Result<Registry*> ModelsApi::registry() {
  std::lock_guard lock(mutex_);
  if (!registry_) registry_ = std::make_unique<Registry>(HONE_TRY(Registry::open(address_)));
  return registry_.get();
}

Result<std::string> ModelsApi::source_of(const std::string& reference) {
  Registry* const all = HONE_TRY(registry());
  return HONE_TRY(resolve_model(*all, reference)).source;
}

Result<WebAnswer> ModelsApi::all(Registry& registry) {
  OrderedJson models = OrderedJson::array(), endpoints = OrderedJson::array();
  for (const RegisteredModel& m : HONE_TRY(registry.models())) {
    OrderedJson j = model_json(m);
    const std::vector<Decision> decisions = HONE_TRY(registry.decisions(m.name));
    if (!decisions.empty()) j["last_decision"] = decision_json(decisions.front());
    models.push_back(std::move(j));
  }
  for (const Endpoint& e : HONE_TRY(registry.endpoints())) endpoints.push_back(endpoint_json(e));
  return api_answer(
      {{"registry", registry.address()}, {"models", models}, {"endpoints", endpoints}});
}

Result<WebAnswer> ModelsApi::one(Registry& registry, const std::string& name) {
  OrderedJson j = model_json(HONE_TRY(registry.model(name)));
  OrderedJson versions = OrderedJson::array(), changes = OrderedJson::array(),
              decisions = OrderedJson::array(), endpoints = OrderedJson::array();
  for (const ModelVersion& v : HONE_TRY(registry.versions(name))) {
    OrderedJson version = version_json(v);
    // The origin of a version: run, data and initial model.
    if (const Result<RegisteredRun> run = registry.run(v.run_id); !v.run_id.empty() && run.ok())
      version["lineage"] = run_json(*run);
    versions.push_back(std::move(version));
  }
  for (const AliasChange& c : HONE_TRY(registry.alias_changes(name)))
    changes.push_back(alias_change_json(c));
  for (const Decision& d : HONE_TRY(registry.decisions(name)))
    decisions.push_back(decision_json(d));
  for (const Endpoint& e : HONE_TRY(registry.endpoints()))
    for (const DeployedModel& d : e.deployed)
      if (d.model == name) {
        endpoints.push_back(endpoint_json(e));
        break;
      }
  j["versions"] = versions;
  j["alias_changes"] = changes;
  j["decisions"] = decisions;
  j["endpoints"] = endpoints;
  return api_answer(j);
}

WebAnswer ModelsApi::answer(const ApiRequest& request) {
  const auto answer = [&]() -> Result<WebAnswer> {
    Registry* const open = HONE_TRY(registry());
    if (request.parts.size() > 1)
      return Error(err::kNotRegistered, fmt::format("there is no '{}'", request.parts[1]));
    return request.parts.empty() ? all(*open) : one(*open, request.parts[0]);
  };
  Result<WebAnswer> given = answer();
  return given.ok() ? std::move(*given) : api_failure(given.error());
}

}  // namespace hone
