// Serves the models of the registry, with versions, aliases and their sources.
#include "learn/tasks/tasks.h"
#include "operate/registry/compare_versions.h"
#include "operate/registry/errors.h"
#include "operate/registry/policy.h"
#include "operate/registry/registry_json.h"
#include "operate/web/api.h"
#include "operate/web/errors.h"

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

// The metric that decides between versions of a model: that of its last decision, else that of its
// task; null if neither is known.
static OrderedJson deciding_json(const std::vector<Decision>& decisions, const std::string& task) {
  std::string metric = decisions.empty() ? "" : text_at(decisions.front().evidence, "metric");
  const OrderedJson& policy =
      decisions.empty() ? OrderedJson() : value_at(decisions.front().evidence, "policy");
  if (metric.empty())
    for (const Task& known : all_task())
      if (known.name == task) metric = known.metric;
  if (metric.empty()) return nullptr;
  const auto usual = parse_policy(dump_json(OrderedJson{{"metric", metric}}), "metric");
  const OrderedJson& higher = value_at(policy, "higher_is_better");
  return {{"metric", metric},
          {"higher_is_better",
           higher.is_boolean() ? higher.get<bool>() : usual.ok() && usual->higher_is_better}};
}

// An endpoint with the tasks of its versions.
static OrderedJson endpoint_with_tasks(Registry& registry, const Endpoint& e) {
  OrderedJson j = endpoint_json(e);
  for (OrderedJson& deployed : j["deployed"])
    if (const auto version =
            registry.version(text_at(deployed, "name"), whole_at(deployed, "version"));
        version.ok())
      deployed["task"] = version->task;
  return j;
}

Result<OrderedJson> ModelsApi::endpoints() {
  Registry* const all = HONE_TRY(registry());
  OrderedJson list = OrderedJson::array();
  for (const Endpoint& e : HONE_TRY(all->endpoints())) list.push_back(endpoint_with_tasks(*all, e));
  return list;
}

Result<Endpoint> ModelsApi::endpoint(const std::string& name) {
  Registry* const all = HONE_TRY(registry());
  return all->endpoint(name);
}

Result<WebAnswer> ModelsApi::all(Registry& registry) {
  OrderedJson models = OrderedJson::array();
  for (const RegisteredModel& m : HONE_TRY(registry.models())) {
    OrderedJson j = model_json(m);
    const std::vector<Decision> decisions = HONE_TRY(registry.decisions(m.name));
    if (!decisions.empty()) j["last_decision"] = decision_json(decisions.front());
    const std::vector<ModelVersion> versions = HONE_TRY(registry.versions(m.name));
    if (!versions.empty()) {
      j["newest"] = version_json(versions.back());
      j["task"] = versions.back().task;
      j["deciding"] = deciding_json(decisions, versions.back().task);
      const auto champion = m.aliases.find(kChampion);
      for (const ModelVersion& v : versions)
        if (champion != m.aliases.end() && v.number == champion->second)
          j["champion"] = version_json(v);
    }
    models.push_back(std::move(j));
  }
  const OrderedJson deployed = HONE_TRY(endpoints());
  return api_answer(
      {{"registry", registry.address()}, {"models", models}, {"endpoints", deployed}});
}

Result<WebAnswer> ModelsApi::one(Registry& registry, const std::string& name) {
  OrderedJson j = model_json(HONE_TRY(registry.model(name)));
  OrderedJson versions = OrderedJson::array(), changes = OrderedJson::array(),
              decisions = OrderedJson::array(), endpoints = OrderedJson::array();
  std::string task;
  for (const ModelVersion& v : HONE_TRY(registry.versions(name))) {
    task = v.task;
    OrderedJson version = version_json(v);
    // The origin of a version: run, data and initial model.
    if (const Result<RegisteredRun> run = registry.run(v.run_id); !v.run_id.empty() && run.ok())
      version["lineage"] = run_json(*run);
    versions.push_back(std::move(version));
  }
  for (const AliasChange& c : HONE_TRY(registry.alias_changes(name)))
    changes.push_back(alias_change_json(c));
  const std::vector<Decision> decided = HONE_TRY(registry.decisions(name));
  for (const Decision& d : decided) decisions.push_back(decision_json(d));
  for (const Endpoint& e : HONE_TRY(registry.endpoints()))
    for (const DeployedModel& d : e.deployed)
      if (d.model == name) {
        endpoints.push_back(endpoint_with_tasks(registry, e));
        break;
      }
  j["deciding"] = deciding_json(decided, task);
  j["versions"] = versions;
  j["alias_changes"] = changes;
  j["decisions"] = decisions;
  j["endpoints"] = endpoints;
  return api_answer(j);
}

Result<WebAnswer> ModelsApi::compared(Registry& registry, const std::string& name,
                                      const ApiRequest& request) {
  const auto version = [&](const char* key) -> Result<ModelVersion> {
    const int64_t number = request.number(key, 0, INT32_MAX);
    if (number == 0)
      return Error(err::kWebView,
                   fmt::format("'{}' is not the number of a version", request.get(key)))
          .at(key)
          .todo("name two versions: compare?a=1&b=2");
    return registry.version(name, number);
  };
  const ModelVersion a = HONE_TRY(version("a")), b = HONE_TRY(version("b"));
  OrderedJson j = HONE_TRY(compare_versions(registry, a, b)).json();
  const std::vector<Decision> decisions = HONE_TRY(registry.decisions(name));
  j["deciding"] = deciding_json(decisions, b.task);
  for (const Decision& d : decisions)
    if ((d.version == a.number && d.against == b.number) ||
        (d.version == b.number && d.against == a.number)) {
      j["decision"] = decision_json(d);
      break;
    }
  return api_answer(j);
}

WebAnswer ModelsApi::answer(const ApiRequest& request) {
  const std::vector<std::string>& parts = request.parts;
  const auto answer = [&]() -> Result<WebAnswer> {
    Registry* const open = HONE_TRY(registry());
    if (parts.size() == 2 && parts[1] == "compare") return compared(*open, parts[0], request);
    if (parts.size() > 1)
      return Error(err::kNotRegistered, fmt::format("there is no '{}'", parts[1]));
    return parts.empty() ? all(*open) : one(*open, parts[0]);
  };
  Result<WebAnswer> given = answer();
  if (given.ok()) return std::move(*given);
  return api_failure(given.error(), given.error().is(err::kWebView) ? 400 : 500);
}

}  // namespace hone
