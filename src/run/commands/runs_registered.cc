#include "run/commands/runs_registered.h"

#include <map>

#include "base/core/log.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "operate/registry/compare_versions.h"
#include "operate/registry/registry_json.h"
#include "operate/registry/run_names.h"
#include "run/commands/command.h"
#include "run/commands/lineage.h"
#include "run/commands/metric_columns.h"

namespace hone {
namespace {

// "news:2@champion" of each version that a run made, by the run's id.
Result<std::map<std::string, std::vector<std::string>>> models_of_runs(Registry& registry) {
  std::map<std::string, std::vector<std::string>> models;
  for (const RegisteredModel& m : HONE_TRY(registry.models()))
    for (const ModelVersion& v : HONE_TRY(registry.versions(m.name))) {
      std::string name = v.reference();
      for (const std::string& alias : v.aliases) name += "@" + alias;
      models[v.run_id].push_back(std::move(name));
    }
  return models;
}

TextTable table_of_registered(const std::vector<RegisteredRun>& runs,
                              std::map<std::string, std::vector<std::string>>& models) {
  std::vector<MeasuredRow> rows;
  for (const RegisteredRun& r : runs)
    rows.push_back(
        {deciding_metric(r.metrics, r.task, r.params), r.metrics, evaluated_by(r, r.metrics)});
  const MetricColumns metrics = metric_columns(rows);
  std::vector<Column> columns = {{.name = "run"}, {.name = "name", .kind = Column::kName}};
  columns.insert(columns.end(), metrics.columns.begin(), metrics.columns.end());
  for (Column c : {Column{.name = "lr", .kind = Column::kNumber, .priority = 1},
                   Column{.name = "from", .kind = Column::kName, .priority = 1},
                   Column{.name = "models", .priority = 2}, Column{.name = "status", .priority = 3},
                   Column{.name = "task", .priority = 4}, Column{.name = "started", .priority = 3},
                   Column{.name = "ended", .priority = 5},
                   Column{.name = "data", .kind = Column::kName, .priority = 3},
                   Column{.name = "data hash", .kind = Column::kHash, .priority = 6},
                   Column{.name = "model hash", .kind = Column::kHash, .priority = 6}})
    columns.push_back(std::move(c));
  TextTable table(columns);
  table.set_note(metrics.note);
  for (size_t i = 0; i < runs.size(); ++i) {
    const RegisteredRun& r = runs[i];
    std::vector<std::string> cells = {r.id, r.name};
    cells.insert(cells.end(), metrics.cells[i].begin(), metrics.cells[i].end());
    for (const std::string& cell :
         {learning_rate_of(r.params), initial_model_of(r), join(models[r.id], " "), r.status,
          r.task, time_cell(r.started), time_cell(r.ended), data_of(r), r.data_hash, r.model_hash})
      cells.push_back(cell);
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

Result<int> list_registered_runs(const RegisteredRunsRequest& s, const TableForm& form) {
  Registry registry = HONE_TRY(Registry::open(s.registry));
  auto models = HONE_TRY(models_of_runs(registry));
  std::vector<RegisteredRun> runs;
  if (s.run.empty())
    runs = HONE_TRY(registry.runs());
  else
    runs.push_back(HONE_TRY(registry.run(s.run)));
  if (runs.empty() && !s.json && form.format == "text") {
    log_info("no runs in '{}'", registry.address());
    return kExitDone;
  }
  if (s.json) {
    for (const RegisteredRun& r : runs) {
      OrderedJson j = run_json(r);
      j["models"] = models[r.id];
      print_out(dump_json(redact_secrets(std::move(j))) + "\n");
    }
    return kExitDone;
  }
  print_table(table_of_registered(runs, models), form);
  return kExitDone;
}

}  // namespace hone
