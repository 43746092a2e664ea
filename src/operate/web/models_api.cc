// Serves the models of the registry, with versions, aliases and their sources.
#include "operate/registry/compare_versions.h"
#include "operate/registry/deciding_metric.h"
#include "operate/registry/errors.h"
#include "operate/registry/measured_rows.h"
#include "operate/registry/policy.h"
#include "operate/registry/registry_json.h"
#include "operate/registry/run_names.h"
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

namespace {

// A version as the pages show it.
struct ShownVersion {
  ModelVersion version;  // with the metrics that decisions computed
  RegisteredRun run;     // an empty one if the registry has none
  std::optional<DecidingMetric> metric;

  OrderedJson json() const {
    OrderedJson j = version_json(version);
    j["metric"] = metric_json(metric);
    j["parent_name"] = parent_of(version, run);
    return j;
  }
};

ShownVersion shown_version(Registry& registry, ModelVersion v,
                           const std::vector<Decision>& decisions) {
  ShownVersion s;
  if (Result<RegisteredRun> run = registry.run(v.run_id); !v.run_id.empty() && run.ok())
    s.run = std::move(*run);
  v.metrics = metrics_with_decisions(v, decisions);
  s.metric = deciding_metric(v.metrics, v.task, s.run.params, decided_by(decisions));
  s.version = std::move(v);
  return s;
}

// The name of the metric that decides between versions of a model: `chosen`, that of one of them, else that of the
// last decision; null if neither is known.
OrderedJson deciding_json(const std::vector<Decision>& decisions,
                          const std::optional<DecidingMetric>& chosen) {
  const std::string metric = bare_metric(chosen ? chosen->name : decided_by(decisions));
  if (metric.empty()) return nullptr;
  const OrderedJson policy =
      decisions.empty() ? OrderedJson() : value_at(decisions.front().evidence, "policy");
  const OrderedJson& higher = value_at(policy, "higher_is_better");
  return {
      {"metric", metric},
      {"higher_is_better", higher.is_boolean() ? higher.get<bool>() : !lower_is_better(metric)}};
}

// Tells why none of these versions is the best by the metric that decides; "": one is.
std::string no_best_of(const std::vector<MeasuredRow>& rows, const OrderedJson& deciding) {
  std::string note;
  for (const MeasuredRow& row : rows)
    if (note.empty() && row.metric && bare_metric(row.metric->name) == text_at(deciding, "metric"))
      note = no_best_text(measured_alike(rows, row.metric->name));
  return note;
}

// The settings of two runs that differ, with paths by name and without those of output alone.
OrderedJson shown_settings(const OrderedJson& differ, const ShownVersion& a,
                           const ShownVersion& b) {
  const std::set<std::string> outputs = output_settings(a.version.task);
  OrderedJson shown = OrderedJson::object();
  for (const auto& [key, values] : differ.items()) {
    OrderedJson x = by_name(a.run, values.at(0)), y = by_name(b.run, values.at(1));
    if (x != y && !outputs.contains(key))
      shown[key] = OrderedJson::array({std::move(x), std::move(y)});
  }
  return shown;
}

}  // namespace

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
      const ShownVersion newest = shown_version(registry, versions.back(), decisions);
      j["newest"] = newest.json();
      j["task"] = versions.back().task;
      j["deciding"] = deciding_json(decisions, newest.metric);
      const auto champion = m.aliases.find(kChampion);
      for (const ModelVersion& v : versions)
        if (champion != m.aliases.end() && v.number == champion->second)
          j["champion"] = shown_version(registry, v, decisions).json();
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
  const std::vector<Decision> decided = HONE_TRY(registry.decisions(name));
  std::optional<DecidingMetric> newest;
  std::vector<MeasuredRow> measured;
  for (const ModelVersion& v : HONE_TRY(registry.versions(name))) {
    const ShownVersion shown = shown_version(registry, v, decided);
    newest = shown.metric;
    measured.push_back(
        {shown.metric, shown.version.metrics, evaluated_by(shown.version, shown.run)});
    OrderedJson version = shown.json();
    // The origin of a version: run, data and initial model.
    if (!shown.run.id.empty()) {
      version["lineage"] = run_json(shown.run);
      version["lineage"]["data"] = data_of(shown.run);
    }
    versions.push_back(std::move(version));
  }
  for (const AliasChange& c : HONE_TRY(registry.alias_changes(name)))
    changes.push_back(alias_change_json(c));
  for (const Decision& d : decided) decisions.push_back(decision_json(d));
  for (const Endpoint& e : HONE_TRY(registry.endpoints()))
    for (const DeployedModel& d : e.deployed)
      if (d.model == name) {
        endpoints.push_back(endpoint_with_tasks(registry, e));
        break;
      }
  j["deciding"] = deciding_json(decided, newest);
  j["no_best"] = no_best_of(measured, j["deciding"]);
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
  const ModelVersion first = HONE_TRY(version("a")), second = HONE_TRY(version("b"));
  const std::vector<Decision> decisions = HONE_TRY(registry.decisions(name));
  const ShownVersion a = shown_version(registry, first, decisions),
                     b = shown_version(registry, second, decisions);
  const VersionDifference difference = HONE_TRY(compare_versions(registry, a.version, b.version));
  OrderedJson j = difference.json(), same_rows = OrderedJson::array();
  for (const auto& [metric, values] : difference.metrics.items())
    if (difference.is_of_same_rows(metric)) same_rows.push_back(metric);
  j["same_rows"] = same_rows;
  j["rows_note"] = difference.rows_note();
  j["deciding"] = deciding_json(decisions, a.metric ? a.metric : b.metric);
  j["settings"] = shown_settings(j["settings"], a, b);
  j["a"]["parent_name"] = parent_of(a.version, a.run);
  j["b"]["parent_name"] = parent_of(b.version, b.run);
  for (const Decision& d : decisions)
    if ((d.version == first.number && d.against == second.number) ||
        (d.version == second.number && d.against == first.number)) {
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
