#include "run/commands/models_show.h"

#include "base/core/log.h"
#include "base/core/text.h"
#include "operate/registry/compare_versions.h"
#include "operate/registry/registry_json.h"
#include "run/commands/command.h"
#include "run/commands/table.h"

namespace hone {
namespace {

using Lines = std::vector<std::vector<std::string>>;

std::string joined(const Labels& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels) parts.push_back(key + "=" + value);
  return join(parts, " ");
}

template <class T>
OrderedJson list_of(const std::vector<T>& all, OrderedJson (*json)(const T&)) {
  OrderedJson list = OrderedJson::array();
  for (const T& one : all) list.push_back(json(one));
  return list;
}

Lines lines_of(const std::vector<ModelVersion>& versions) {
  Lines lines = {{"version", "aliases", "parent", "run", "labels", "created", "source"}};
  for (const ModelVersion& v : versions)
    lines.push_back({std::to_string(v.number), join(v.aliases, " "), v.parent, v.run_id,
                     joined(v.labels), v.created.substr(0, 19), v.source});
  return lines;
}

Lines lines_of(const std::vector<AliasChange>& changes) {
  Lines lines = {{"alias", "version", "change", "time", "reason"}};
  for (const AliasChange& c : changes)
    lines.push_back({c.alias, std::to_string(c.version), c.change, c.time.substr(0, 19), c.reason});
  return lines;
}

Lines lines_of(const std::vector<Decision>& decisions) {
  Lines lines = {{"decision", "version", "against", "verdict", "time", "reason"}};
  for (const Decision& d : decisions)
    lines.push_back({std::to_string(d.id), std::to_string(d.version),
                     d.against > 0 ? std::to_string(d.against) : "", d.verdict,
                     d.time.substr(0, 19), d.reason});
  return lines;
}

}  // namespace

void print_json(const OrderedJson& value) { print_out(dump_json(value) + "\n"); }

Result<int> list_models(Registry& registry, const Shown& how) {
  const std::vector<RegisteredModel> all = HONE_TRY(registry.models());
  if (how.json) {
    print_json(list_of(all, model_json));
    return kExitDone;
  }
  if (all.empty() && how.format == "text") {
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
  print_out(table_of(lines, how.format));
  return kExitDone;
}

Result<int> show_version(Registry& registry, const std::string& reference, const Shown& how) {
  const ModelVersion v = HONE_TRY(resolve_model(registry, reference));
  OrderedJson json = version_json(v);
  if (!v.run_id.empty()) json["run"] = run_json(HONE_TRY(registry.run(v.run_id)));
  json["decisions"] = OrderedJson::array();
  for (const Decision& d : HONE_TRY(registry.decisions(v.model)))
    if (d.version == v.number) json["decisions"].push_back(decision_json(d));
  if (how.json) {
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
  print_out(table_of(lines, how.format));
  return kExitDone;
}

Result<int> show_model(Registry& registry, const std::string& name, const Shown& how) {
  const RegisteredModel m = HONE_TRY(registry.model(name));
  const std::vector<ModelVersion> versions = HONE_TRY(registry.versions(m.name));
  const std::vector<AliasChange> changes = HONE_TRY(registry.alias_changes(m.name));
  const std::vector<Decision> decisions = HONE_TRY(registry.decisions(m.name));
  if (how.json) {
    OrderedJson json = model_json(m);
    json["versions"] = list_of(versions, version_json);
    json["alias_changes"] = list_of(changes, alias_change_json);
    json["decisions"] = list_of(decisions, decision_json);
    print_json(json);
    return kExitDone;
  }
  std::string text = table_of(lines_of(versions), how.format);
  if (!changes.empty()) text += "\n" + table_of(lines_of(changes), how.format);
  if (!decisions.empty()) text += "\n" + table_of(lines_of(decisions), how.format);
  print_out(text);
  return kExitDone;
}

Result<int> compare_models(Registry& registry, const std::string& reference,
                           const std::string& against, const Shown& how) {
  const ModelVersion a = HONE_TRY(resolve_model(registry, reference)),
                     b = HONE_TRY(resolve_model(registry, against));
  const VersionDifference difference = HONE_TRY(compare_versions(registry, a, b));
  if (how.json) {
    print_json(difference.json());
    return kExitDone;
  }
  Lines lines = {{"what", a.reference(), b.reference(), "difference"}};
  for (const VersionDifference::Line& l : difference.lines)
    lines.push_back({l.what, l.a, l.b, l.difference});
  print_out(table_of(lines, how.format));
  return kExitDone;
}

}  // namespace hone
