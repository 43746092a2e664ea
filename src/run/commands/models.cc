// hone models VERB ...: models, their versions and aliases in the registry.
#include "base/core/log.h"
#include "base/core/text.h"
#include "operate/registry/mlflow_registry.h"
#include "operate/registry/register_model.h"
#include "operate/registry/registry_json.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/models_decide.h"
#include "run/commands/table.h"

namespace hone {
namespace {

struct ModelsSettings {
#define HONE_SETTINGS "run/commands/models.def"
#include "base/settings/fields.inc"
};

constexpr double kExchangeSeconds = 600;  // for a file of a model

using Lines = std::vector<std::vector<std::string>>;

void print_json(const OrderedJson& value) { print_out(dump_json(value) + "\n"); }

std::string joined(const Labels& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels) parts.push_back(key + "=" + value);
  return join(parts, " ");
}

Result<Labels> labels_of(const std::vector<std::string>& given) {
  Labels labels;
  for (const std::string& text : given) {
    const size_t is = text.find('=');
    if (is == std::string::npos || is == 0)
      return Error(err::kMissingArgument, fmt::format("the label '{}' has no value", text))
          .at("--label " + text)
          .todo("write it as key=value");
    labels[text.substr(0, is)] = text.substr(is + 1);
  }
  return labels;
}

Error lacks(const ModelsSettings& s, const std::string& what, const std::string& todo) {
  return Error(err::kMissingArgument, fmt::format("'hone models {}' needs {}", s.verb, what))
      .todo(todo);
}

Result<int> register_one(const ModelsSettings& s, Registry& registry) {
  if (s.name.empty() || s.model.empty())
    return lacks(s, "a name and a folder", "hone models register --name NAME --model FOLDER");
  ModelToRegister given;
  given.name = s.name;
  given.folder = s.model;
  given.metrics = s.metrics;
  given.run_log = s.run_log;
  given.evaluation = s.evaluation;
  given.parent = s.parent;
  given.description = s.description;
  given.labels = HONE_TRY(labels_of(s.label));
  given.alias = s.alias;
  given.hone_version = version();
  const ModelVersion v = HONE_TRY(register_model(registry, given));
  if (s.json)
    print_json(version_json(v));
  else
    log_info("{:<11} {} of {} ({})", "registered", v.reference(), v.source, v.hash.substr(0, 19));
  return kExitDone;
}

Result<int> list_models(const ModelsSettings& s, Registry& registry) {
  const std::vector<RegisteredModel> all = HONE_TRY(registry.models());
  if (s.json) {
    OrderedJson list = OrderedJson::array();
    for (const RegisteredModel& m : all) list.push_back(model_json(m));
    print_json(list);
    return kExitDone;
  }
  if (all.empty() && s.format == "text") {
    log_info("no models in '{}'", registry.address());
    return kExitDone;
  }
  Lines lines = {{"model", "versions", "aliases", "labels", "created", "description"}};
  for (const RegisteredModel& m : all) {
    std::vector<std::string> aliases;
    for (const auto& [alias, number] : m.aliases)
      aliases.push_back(fmt::format("{}={}", alias, number));
    lines.push_back({m.name, std::to_string(m.versions), join(aliases, " "), joined(m.labels),
                     m.created.substr(0, 19), m.description});
  }
  print_out(table_of(lines, s.format));
  return kExitDone;
}

// A version as "what, value" lines.
Result<int> show_version(const ModelsSettings& s, Registry& registry, const ModelVersion& v) {
  OrderedJson json = version_json(v);
  if (!v.run_id.empty()) json["run"] = run_json(HONE_TRY(registry.run(v.run_id)));
  json["decisions"] = OrderedJson::array();
  for (const Decision& d : HONE_TRY(registry.decisions(v.model)))
    if (d.version == v.number) json["decisions"].push_back(decision_json(d));
  if (s.json) {
    print_json(json);
    return kExitDone;
  }
  Lines lines = {{"what", "value"}};
  const auto add = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) lines.push_back({what, value});
  };
  add("version", v.reference());
  add("aliases", join(v.aliases, " "));
  add("source", v.source);
  add("hash", v.hash);
  add("task", v.task);
  add("parent", v.parent);
  add("run", v.run_id);
  add("evaluation", v.evaluation);
  add("labels", joined(v.labels));
  add("created", v.created);
  for (const auto& [key, value] : v.metrics.items()) add(key, dump_json(value));
  for (const OrderedJson& d : json["decisions"])
    add("decision", fmt::format("{}: {}", text_at(d, "verdict"), text_at(d, "reason")));
  print_out(table_of(lines, s.format));
  return kExitDone;
}

Result<int> show_model(const ModelsSettings& s, Registry& registry) {
  const RegisteredModel m = HONE_TRY(registry.model(s.reference));
  const std::vector<ModelVersion> versions = HONE_TRY(registry.versions(m.name));
  const std::vector<AliasChange> changes = HONE_TRY(registry.alias_changes(m.name));
  const std::vector<Decision> decisions = HONE_TRY(registry.decisions(m.name));
  if (s.json) {
    OrderedJson json = model_json(m);
    json["versions"] = OrderedJson::array();
    for (const ModelVersion& v : versions) json["versions"].push_back(version_json(v));
    json["alias_changes"] = OrderedJson::array();
    for (const AliasChange& c : changes) json["alias_changes"].push_back(alias_change_json(c));
    json["decisions"] = OrderedJson::array();
    for (const Decision& d : decisions) json["decisions"].push_back(decision_json(d));
    print_json(json);
    return kExitDone;
  }
  Lines lines = {{"version", "aliases", "parent", "run", "labels", "created", "source"}};
  for (const ModelVersion& v : versions)
    lines.push_back({std::to_string(v.number), join(v.aliases, " "), v.parent, v.run_id,
                     joined(v.labels), v.created.substr(0, 19), v.source});
  std::string text = table_of(lines, s.format);
  if (!changes.empty()) {
    lines = {{"alias", "version", "change", "time", "reason"}};
    for (const AliasChange& c : changes)
      lines.push_back(
          {c.alias, std::to_string(c.version), c.change, c.time.substr(0, 19), c.reason});
    text += "\n" + table_of(lines, s.format);
  }
  if (!decisions.empty()) {
    lines = {{"decision", "version", "against", "verdict", "time", "reason"}};
    for (const Decision& d : decisions)
      lines.push_back({std::to_string(d.id), std::to_string(d.version),
                       d.against > 0 ? std::to_string(d.against) : "", d.verdict,
                       d.time.substr(0, 19), d.reason});
    text += "\n" + table_of(lines, s.format);
  }
  print_out(text);
  return kExitDone;
}

std::string shown(const OrderedJson& object, const std::string& key) {
  const auto it = object.find(key);
  return it == object.end() ? "" : dump_json(*it);
}

// Keys of both, those of `a` first.
std::vector<std::string> keys_of(const OrderedJson& a, const OrderedJson& b) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : a.items()) keys.push_back(key);
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) keys.push_back(key);
  return keys;
}

Result<int> compare_versions(const ModelsSettings& s, Registry& registry) {
  if (s.reference.empty() || s.against.empty())
    return lacks(s, "two versions", "hone models compare NAME:1 NAME:2");
  const ModelVersion a = HONE_TRY(resolve_model(registry, s.reference)),
                     b = HONE_TRY(resolve_model(registry, s.against));
  OrderedJson metrics = OrderedJson::object(), params = OrderedJson::object();
  Lines lines = {{"what", a.reference(), b.reference(), "difference"}};
  const auto add = [&](const std::string& what, const std::string& x, const std::string& y) {
    if (x != y) lines.push_back({what, x, y, ""});
  };
  add("hash", a.hash, b.hash);
  add("data", a.data_hash, b.data_hash);
  add("parent", a.parent, b.parent);
  for (const std::string& key : keys_of(a.metrics, b.metrics)) {
    const auto x = a.metrics.find(key), y = b.metrics.find(key);
    const bool both =
        x != a.metrics.end() && y != b.metrics.end() && x->is_number() && y->is_number();
    const OrderedJson difference =
        both ? OrderedJson(y->get<double>() - x->get<double>()) : OrderedJson();
    metrics[key] = OrderedJson::array({x != a.metrics.end() ? *x : OrderedJson(),
                                       y != b.metrics.end() ? *y : OrderedJson(), difference});
    lines.push_back({key, shown(a.metrics, key), shown(b.metrics, key),
                     both ? fmt::format("{:+.4g}", difference.get<double>()) : ""});
  }
  if (!a.run_id.empty() && !b.run_id.empty()) {
    const RegisteredRun x = HONE_TRY(registry.run(a.run_id)), y = HONE_TRY(registry.run(b.run_id));
    for (const std::string& key : keys_of(x.params, y.params)) {
      const std::string mine = shown(x.params, key), other = shown(y.params, key);
      if (mine == other) continue;
      params[key] = OrderedJson::array(
          {x.params.value(key, OrderedJson()), y.params.value(key, OrderedJson())});
      add("--" + key, mine, other);
    }
  }
  if (s.json)
    print_json({{"a", version_json(a)},
                {"b", version_json(b)},
                {"same_files", a.hash == b.hash},
                {"same_data", a.data_hash == b.data_hash && !a.data_hash.empty()},
                {"metrics", metrics},
                {"settings", params}});
  else
    print_out(table_of(lines, s.format));
  return kExitDone;
}

Result<int> print_alias(const ModelsSettings& s, const std::string& alias, const ModelVersion& v) {
  if (s.json)
    print_json(version_json(v));
  else
    log_info("{:<11} {}@{} is {}", s.verb == "promote" ? "promoted" : "rolled back", v.model, alias,
             v.reference());
  return kExitDone;
}

Result<int> exchange(const ModelsSettings& s, Registry& registry) {
  const bool out = s.verb == "export";
  const std::vector<std::string>& peer = out ? s.to : s.from;
  if (peer.empty() || peer[0] != "mlflow" || peer.size() > 2)
    return lacks(
        s, "a server",
        fmt::format("hone models {} --{} mlflow http://host:5000", s.verb, out ? "to" : "from"));
  MlflowClient client =
      HONE_TRY(MlflowClient::at(peer.size() > 1 ? peer[1] : "", kExchangeSeconds));
  const ExchangedModels done = out ? HONE_TRY(export_to_mlflow(registry, client, s.reference))
                                   : HONE_TRY(import_from_mlflow(registry, client, s.reference));
  if (s.json)
    print_json({{"models", done.models},
                {"versions", done.versions},
                {"there_already", done.there_already}});
  else
    log_info("{:<11} {} models, {} versions; {} were there", s.verb + "ed", done.models,
             done.versions, done.there_already);
  return kExitDone;
}

Result<int> run_models(const std::vector<std::string>& args) {
  ModelsSettings s;
  Schema schema("hone models", "models, their versions and which of them is deployed");
  s.bind(schema);
  for (const char* name : {"verb", "reference", "against"}) schema.positional(name);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  Registry registry = HONE_TRY(Registry::open(s.registry));
  if (s.verb == "register") return register_one(s, registry);
  if (s.verb == "list") return list_models(s, registry);
  if (s.verb == "compare") return compare_versions(s, registry);
  if (s.verb == "decide") {
    if (s.name.empty() || s.policy.empty())
      return lacks(s, "a name and a policy", "hone models decide --name NAME --policy FILE.json");
    return decide_version({.name = s.name,
                           .version = s.version,
                           .policy = s.policy,
                           .output = s.output,
                           .alias = s.alias.empty() ? kChampion : s.alias,
                           .parity_dtype = s.parity_dtype,
                           .json = s.json},
                          registry);
  }
  if (s.verb == "export" || s.verb == "import") return exchange(s, registry);
  if (s.reference.empty()) return lacks(s, "a model", "name it; hone models list shows them");
  const std::string alias = s.alias.empty() ? kChampion : s.alias;
  if (s.verb == "promote") {
    const ModelVersion v = HONE_TRY(resolve_model(registry, s.reference));
    HONE_TRY(registry.set_alias(v.model, alias, v.number, s.reason));
    return print_alias(s, alias, HONE_TRY(registry.version(v.model, v.number)));
  }
  if (s.verb == "rollback")
    return print_alias(s, alias, HONE_TRY(registry.roll_back(s.reference, alias, s.reason)));
  if (s.reference.find_first_of(":@") == std::string::npos) return show_model(s, registry);
  return show_version(s, registry, HONE_TRY(resolve_model(registry, s.reference)));
}

}  // namespace

Command command_models() {
  return {.name = "models",
          .summary = "register models, compare, decide, promote and roll back versions",
          .run = run_models};
}

}  // namespace hone
