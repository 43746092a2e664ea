// hone models VERB ...: models, their versions and aliases in the registry.
#include <algorithm>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "operate/pipeline/published.h"
#include "operate/registry/mlflow_registry.h"
#include "operate/registry/register_model.h"
#include "operate/registry/registry_json.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/models_compare.h"
#include "run/commands/models_decide.h"
#include "run/commands/models_endpoints.h"
#include "run/commands/models_name.h"
#include "run/commands/models_show.h"

namespace hone {
namespace {

struct ModelsSettings {
#define HONE_SETTINGS "run/commands/models.def"
#include "base/settings/fields.inc"
};

constexpr double kExchangeSeconds = 600;  // for a file of a model

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

// "a name and a folder", or the one of the two that is empty.
std::string missing(const std::string& first, const std::string& name_of_first,
                    const std::string& second, const std::string& name_of_second) {
  if (!first.empty()) return name_of_second;
  return second.empty() ? name_of_first + " and " + name_of_second : name_of_first;
}

Result<int> register_one(const ModelsSettings& s, Registry& registry) {
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
  given.published = published_place;
  const ModelVersion v = HONE_TRY(register_model(registry, given));
  if (s.json)
    print_json(version_json(v));
  else
    log_info("{:<11} {} of {} ({})", "registered", v.reference(), v.source, v.hash.substr(0, 19));
  return kExitDone;
}

// `done`: what happened to the alias.
Result<int> print_alias(const ModelsSettings& s, Registry& registry, const std::string& alias,
                        const ModelVersion& v, const char* done) {
  const std::string names = fmt::format("{}@{} is {}", v.model, alias, v.reference());
  if (s.json)
    print_json(version_json(v));
  else
    log_info("{:<11} {}", done, names);
  // Other aliases say nothing about what users get.
  if (alias != kChampion && !s.deploy) return kExitDone;
  Status followed = follow_alias(registry, v, {.deploys = s.deploy, .json = s.json});
  if (!followed.ok() && s.deploy)
    return std::move(followed.error()).at(fmt::format("{}: only the deployment failed", names));
  HONE_TRY(std::move(followed));
  return kExitDone;
}

Result<int> promote(const ModelsSettings& s, Registry& registry, const std::string& alias) {
  const ModelVersion v = HONE_TRY(resolve_model(registry, s.reference));
  if (std::count(v.aliases.begin(), v.aliases.end(), alias))
    return print_alias(s, registry, alias, v, "unchanged");
  HONE_TRY(registry.set_alias(v.model, alias, v.number, s.reason));
  return print_alias(s, registry, alias, HONE_TRY(registry.version(v.model, v.number)), "promoted");
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

// Takes the name from the argument or the flag, and refuses mistakes that the settings alone show.
Status settle_models(ModelsSettings& s) {
  if (s.verb == "register") s.name = HONE_TRY(named_model(s.reference, s.name));
  if (s.verb == "decide") {
    NamedVersion named = HONE_TRY(named_version(s.reference, s.name, s.version));
    s.name = std::move(named.name);
    s.version = named.version;
  }
  const std::string name = s.name.empty() ? "NAME" : s.name;
  if (s.verb == "register" && (s.name.empty() || s.model.empty()))
    return lacks(s, missing(s.name, "a name", s.model, "a folder"),
                 fmt::format("hone models register --name {} --model {}", name,
                             s.model.empty() ? "FOLDER" : s.model));
  if (s.verb == "register") HONE_TRY(labels_of(s.label));
  if (s.verb != "decide") return Ok{};
  if (s.name.empty() || s.policy.empty())
    return lacks(s, missing(s.name, "a name", s.policy, "a policy"),
                 fmt::format("hone models decide {}{} --policy {}", name,
                             s.version > 0 ? fmt::format(":{}", s.version) : "",
                             s.policy.empty() ? "FILE.json" : shell_word(s.policy)));
  if (is_typed_policy(s.policy)) HONE_TRY(read_policy(s.policy));
  return Ok{};
}

Result<int> run_models(const std::vector<std::string>& args) {
  ModelsSettings s;
  Schema schema("hone models", "models, their versions and their aliases");
  s.bind(schema);
  for (const char* name : {"verb", "reference", "against"}) schema.positional(name);
  if (HONE_TRY(parse_settings(schema, args, [&] { return settle_models(s); })).done)
    return kExitDone;
  Registry registry = HONE_TRY(Registry::open(s.registry));
  if (s.verb == "register") return register_one(s, registry);
  const Shown how{.json = s.json, .form = table_form(s)};
  if (s.verb == "list") return list_models(registry, how);
  if (s.verb == "compare") {
    if (s.reference.empty() || s.against.empty())
      return lacks(s, "two versions", "hone models compare NAME:1 NAME:2");
    return compare_models(registry, s.reference, s.against, how);
  }
  if (s.verb == "decide")
    return decide_version({.name = s.name,
                           .version = s.version,
                           .policy = s.policy,
                           .output = s.output,
                           .alias = s.alias.empty() ? kChampion : s.alias,
                           .parity_dtype = s.parity_dtype,
                           .json = s.json},
                          registry);
  if (s.verb == "export" || s.verb == "import") return exchange(s, registry);
  if (s.reference.empty()) return lacks(s, "a model", "name it; hone models list shows them");
  const std::string alias = s.alias.empty() ? kChampion : s.alias;
  if (s.verb == "promote") return promote(s, registry, alias);
  if (s.verb == "rollback")
    return print_alias(s, registry, alias,
                       HONE_TRY(registry.roll_back(s.reference, alias, s.reason)), "rolled back");
  if (s.reference.find_first_of(":@") == std::string::npos)
    return show_model(registry, s.reference, how);
  return show_version(registry, s.reference, how);
}

}  // namespace

Command command_models() {
  return {.name = "models",
          .summary = "register models, compare, decide, promote and roll back versions",
          .in = CommandGroup::kOperate,
          .run = run_models};
}

}  // namespace hone
