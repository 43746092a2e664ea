#include "run/commands/pipeline_list.h"

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "run/commands/command.h"
#include "run/commands/pipeline_verdict.h"

namespace hone {

Result<int> list_pipeline_runs(const std::string& folder, bool is_named, const ShownRuns& how) {
  if (!is_named && !path_exists(folder + "/pipeline.db")) {
    if (!how.json)
      log_info("no pipeline runs in '{}'; --pipeline_root names another place", folder);
    return kExitDone;
  }
  const auto state = HONE_TRY(open_pipeline_state(folder));
  const std::vector<PipelineRunRow> runs = HONE_TRY(state->runs());
  std::vector<RunVerdict> verdicts;
  std::vector<MeasuredRow> measured;
  for (const PipelineRunRow& r : runs) {
    verdicts.push_back(verdict_of(folder, r, HONE_TRY(state->steps(r.id))));
    measured.push_back({verdicts.back().metric, {}, verdicts.back().evaluated});
  }
  const MetricColumns metrics = metric_columns(measured);
  std::vector<Column> columns = {{.name = "run"}};
  columns.insert(columns.end(), metrics.columns.begin(), metrics.columns.end());
  for (Column c :
       {Column{.name = "verdict"}, Column{.name = "status"}, Column{.name = "begun", .priority = 1},
        Column{.name = "message", .kind = Column::kSentence, .priority = 2}})
    columns.push_back(std::move(c));
  TextTable table(columns);
  table.set_note(metrics.note);
  for (size_t i = 0; i < runs.size(); ++i) {
    const PipelineRunRow& r = runs[i];
    const RunVerdict& v = verdicts[i];
    if (how.json) {
      print_out(dump_json(OrderedJson{
                    {"run", r.id},
                    {"pipeline", r.pipeline},
                    {"status", status_of_run(r)},
                    {"begun", format_utc(r.begun_s)},
                    {"message", r.message},
                    {"verdict", v.verdict},
                    {"reason", v.reason},
                    {"metric", v.metric ? v.metric->name : ""},
                    {"value", v.metric ? OrderedJson(v.metric->value) : OrderedJson()}}) +
                "\n");
      continue;
    }
    std::vector<std::string> cells = {r.id};
    cells.insert(cells.end(), metrics.cells[i].begin(), metrics.cells[i].end());
    cells.insert(cells.end(), {v.verdict, status_of_run(r), format_utc(r.begun_s), r.message});
    table.add(std::move(cells));
  }
  if (!how.json && table.empty())
    log_info("no pipeline runs in '{}'; --pipeline_root names another place", folder);
  else if (!how.json)
    print_table(table, how.form);
  return kExitDone;
}

}  // namespace hone
