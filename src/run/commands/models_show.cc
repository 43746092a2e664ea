#include "run/commands/models_show.h"

#include "base/core/log.h"
#include "base/core/text.h"
#include "operate/registry/compare_versions.h"
#include "operate/registry/errors.h"
#include "operate/registry/registry_json.h"
#include "operate/registry/run_names.h"
#include "run/commands/command.h"
#include "run/commands/lineage.h"
#include "run/commands/metric_columns.h"

namespace hone {
namespace {

using C = Column;

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

// The run of a version; an empty one if the registry has none.
Result<RegisteredRun> run_of(Registry& registry, const ModelVersion& v) {
  Result<RegisteredRun> run = registry.run(v.run_id);
  return !run.ok() && run.error().is(err::kNotRegistered) ? Result<RegisteredRun>(RegisteredRun())
                                                          : std::move(run);
}

Result<TextTable> table_of(Registry& registry, const std::vector<ModelVersion>& versions,
                           const std::vector<Decision>& decisions) {
  std::vector<RegisteredRun> runs;
  std::vector<MeasuredRow> rows;
  for (const ModelVersion& v : versions) {
    runs.push_back(HONE_TRY(run_of(registry, v)));
    const OrderedJson known = metrics_with_decisions(v, decisions);
    rows.push_back({deciding_metric(known, v.task, runs.back().params, decided_by(decisions)),
                    known, evaluated_by(v, runs.back())});
  }
  const MetricColumns metrics = metric_columns(rows);
  std::vector<Column> columns = {{.name = "version", .kind = C::kNumber}};
  columns.insert(columns.end(), metrics.columns.begin(), metrics.columns.end());
  for (Column c :
       {C{.name = "lr", .kind = C::kNumber, .priority = 1}, C{.name = "aliases", .kind = C::kName},
        C{.name = "parent", .kind = C::kName, .priority = 1},
        C{.name = "data", .kind = C::kName, .priority = 2}, C{.name = "created", .priority = 2},
        C{.name = "labels", .kind = C::kName, .priority = 3}, C{.name = "run", .priority = 3},
        C{.name = "hash", .kind = C::kHash, .priority = 4},
        C{.name = "source", .kind = C::kName, .priority = 4}})
    columns.push_back(std::move(c));
  TextTable table(columns);
  table.set_note(metrics.note);
  for (size_t i = 0; i < versions.size(); ++i) {
    const ModelVersion& v = versions[i];
    std::vector<std::string> cells = {std::to_string(v.number)};
    cells.insert(cells.end(), metrics.cells[i].begin(), metrics.cells[i].end());
    cells.insert(cells.end(), {learning_rate_of(runs[i].params), join(v.aliases, " "),
                               parent_of(v, runs[i]), data_of(runs[i]), time_cell(v.created),
                               joined(v.labels), v.run_id, v.hash, v.source});
    table.add(std::move(cells));
  }
  return table;
}

TextTable table_of(const std::vector<AliasChange>& changes) {
  TextTable table({{.name = "alias", .kind = C::kName},
                   {.name = "version", .kind = C::kNumber},
                   {.name = "change"},
                   {.name = "time", .priority = 1},
                   {.name = "reason", .kind = C::kSentence}});
  for (const AliasChange& c : changes)
    table.add({c.alias, std::to_string(c.version), c.change, time_cell(c.time), c.reason});
  return table;
}

TextTable table_of(const std::vector<Decision>& decisions) {
  TextTable table({{.name = "decision", .kind = C::kNumber, .priority = 2},
                   {.name = "version", .kind = C::kNumber},
                   {.name = "against", .kind = C::kNumber, .priority = 1},
                   {.name = "verdict"},
                   {.name = "time", .priority = 1},
                   {.name = "reason", .kind = C::kSentence}});
  for (const Decision& d : decisions) {
    const bool compared = d.against > 0 && d.against != d.version;
    table.add({std::to_string(d.id), std::to_string(d.version),
               compared ? std::to_string(d.against) : "", d.verdict, time_cell(d.time), d.reason});
  }
  return table;
}

}  // namespace

void print_json(const OrderedJson& value) { print_out(dump_json(value) + "\n"); }

Result<int> list_models(Registry& registry, const Shown& how) {
  const std::vector<RegisteredModel> all = HONE_TRY(registry.models());
  if (how.json) {
    print_json(list_of(all, model_json));
    return kExitDone;
  }
  if (all.empty() && how.form.format == "text") {
    log_info("no models in '{}'", registry.address());
    return kExitDone;
  }
  TextTable table({{.name = "model", .kind = C::kName},
                   {.name = "versions", .kind = C::kNumber},
                   {.name = "aliases", .kind = C::kName},
                   {.name = "labels", .kind = C::kName, .priority = 2},
                   {.name = "created", .priority = 2},
                   {.name = "description", .kind = C::kSentence, .priority = 1}});
  for (const RegisteredModel& m : all) {
    std::vector<std::string> aliases;
    for (const auto& [alias, n] : m.aliases) aliases.push_back(fmt::format("{}={}", alias, n));
    table.add({m.name, std::to_string(m.versions), join(aliases, " "), joined(m.labels),
               time_cell(m.created), m.description});
  }
  print_table(table, how.form);
  return kExitDone;
}

Result<int> show_version(Registry& registry, const std::string& reference, const Shown& how) {
  const ModelVersion v = HONE_TRY(resolve_model(registry, reference));
  const RegisteredRun run = HONE_TRY(run_of(registry, v));
  OrderedJson json = version_json(v);
  if (!run.id.empty()) json["run"] = run_json(run);
  std::vector<Decision> decisions = HONE_TRY(registry.decisions(v.model));
  const std::string decides = decided_by(decisions);
  std::erase_if(decisions, [&](const Decision& d) { return d.version != v.number; });
  json["decisions"] = list_of(decisions, decision_json);
  if (how.json) {
    print_json(json);
    return kExitDone;
  }
  TextTable table({{.name = "what"}, {.name = "value", .kind = C::kSentence}});
  const auto add = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) table.add({what, value});
  };
  const bool whole = how.form.wide || how.form.format != "text";
  add("version", v.reference());
  const OrderedJson known = metrics_with_decisions(v, decisions);
  const auto metric = deciding_metric(known, v.task, run.params, decides);
  if (metric) add(metric->name, dump_json(known.at(metric->name)));
  add("learning rate", learning_rate_of(run.params));
  add("aliases", join(v.aliases, " "));
  add("parent", parent_of(v, run));
  add("data", data_of(run));
  add("task", v.task);
  for (const Decision& d : decisions) add("decision", d.verdict + ": " + d.reason);
  add("source", v.source);
  add("hash", whole ? v.hash : short_hash(v.hash));
  add("run", v.run_id);
  add("evaluation", v.evaluation);
  add("labels", joined(v.labels));
  add("created", time_cell(v.created));
  for (const auto& [key, value] : known.items())
    if (!metric || key != metric->name) add(key, dump_json(value));
  print_table(table, how.form);
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
  const TextTable all = HONE_TRY(table_of(registry, versions, decisions));
  print_tables({all, table_of(changes), table_of(decisions)}, how.form);
  return kExitDone;
}

}  // namespace hone
