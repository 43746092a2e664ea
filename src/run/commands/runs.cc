// hone runs VERB ...: the runs that have a log in their output folder, and those of the registry.
#include <algorithm>
#include <set>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/errors.h"
#include "base/store/store.h"
#include "operate/monitor/run_list.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/lineage.h"
#include "run/commands/metric_columns.h"
#include "run/commands/print_table.h"
#include "run/commands/runs_export.h"
#include "run/commands/runs_logs.h"
#include "run/commands/runs_registered.h"

namespace hone {
namespace {

struct RunsSettings {
#define HONE_SETTINGS "run/commands/runs.def"
#include "base/settings/fields.inc"
};

bool is_json(const RunsSettings& s) { return s.json || s.format == "json"; }

OrderedJson row_json(const RunRow& row) {
  OrderedJson end = row.end, earlier = OrderedJson::array();
  for (const RunRow& attempt : row.earlier) earlier.push_back(row_json(attempt));
  for (const char* key : {"severity", "message", "event", "logging.googleapis.com/labels"})
    if (end.is_object()) end.erase(key);
  return {{"run", row.run},
          {"status", row.status(system_clock().wall_seconds())},
          {"attempts", row.attempts},
          {"earlier", earlier},
          {"step", row.step},
          {"metrics", row.metrics},
          {"tags", row.tags},
          {"memory_planned_bytes", row.planned_bytes},
          {"end", end},
          {"log", row.log}};
}

// The name of the run, what decides, then its facts. A text that is fitted has the reasons in a table of their own:
// one of them would leave no room for the numbers of all runs.
std::vector<TextTable> tables_of_runs(const std::vector<RunRow>& rows, const TableForm& form) {
  std::vector<MeasuredRow> measured;
  for (const RunRow& row : rows)
    measured.push_back({metric_of_run(row), results_of(row), evaluated_by(row)});
  const MetricColumns metrics = metric_columns(measured);
  std::vector<Column> columns = run_columns();
  // Only the id tells runs of one name apart.
  std::set<std::string> names;
  for (const RunRow& row : rows) names.insert(text_at(row.run, "name"));
  const bool by_id = names.size() < rows.size();
  for (Column& column : columns)
    if (by_id && column.name == "id") column.priority = 0;
  const bool apart = form.format == "text" && !form.wide;
  const auto reason = std::find_if(columns.begin(), columns.end(),
                                   [](const Column& c) { return c.name == "reason"; }) -
                      columns.begin();
  TextTable reasons({{.name = by_id ? "id" : "run", .kind = Column::kName}, columns[reason]});
  if (apart) columns.erase(columns.begin() + reason);
  columns.insert(columns.begin() + 1, metrics.columns.begin(), metrics.columns.end());
  TextTable table(columns);
  table.set_note(metrics.note);
  const double now_s = system_clock().wall_seconds();
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> cells = run_cells(rows[i], now_s);
    if (apart && !cells[reason].empty())
      reasons.add({by_id ? cells.back() : cells.front(), cells[reason]});
    if (apart) cells.erase(cells.begin() + reason);
    cells.insert(cells.begin() + 1, metrics.cells[i].begin(), metrics.cells[i].end());
    table.add(std::move(cells));
  }
  return {table, reasons};
}

Result<int> list_runs(const RunsSettings& s) {
  if (!is_url(s.folder) && !is_folder(s.folder))  // a bucket has no empty folders
    return Error(err::kStoreMissing, fmt::format("there is no folder '{}'", s.folder))
        .todo("name the folder that holds the runs");
  const std::vector<RunRow> rows = with_attempts(HONE_TRY(find_runs({s.folder})));
  if (is_json(s)) {
    for (const RunRow& row : rows) print_out(dump_json(row_json(row)) + "\n");
    return kExitDone;
  }
  if (rows.empty() && table_form(s).format == "text") {
    log_info("no runs below '{}'", s.folder);
    return kExitDone;
  }
  const std::vector<TextTable> tables = tables_of_runs(rows, table_form(s));
  if (rows.empty())
    print_table(tables[0], table_form(s));
  else
    print_tables(tables, table_form(s));
  return kExitDone;
}

Result<int> show_run(const RunsSettings& s) {
  const RunRow row = HONE_TRY(found_run(s.run, s.folder));
  if (is_json(s)) {
    print_out(dump_json(row_json(row), {.indent = 2}) + "\n");
    return kExitDone;
  }
  TextTable table({{.name = "what"}, {.name = "value", .kind = Column::kSentence}});
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) table.add({name, value});
  };
  const std::vector<Column> columns = run_columns();
  const std::vector<std::string> cells = run_cells(row, system_clock().wall_seconds());
  add(columns[0].name, cells[0]);
  const auto metric = metric_of_run(row);
  if (metric) add(metric->name, metric_text(metric->value));
  for (size_t i = 1; i < columns.size(); ++i) add(columns[i].name, cells[i]);
  if (row.planned_bytes >= 0) add("memory planned", format_bytes(row.planned_bytes));
  for (const auto& [key, value] : row.metrics.items())
    if (key != "train_loss" && !(metric && key == metric->name))  // these are above
      add(key == "learning_rate" ? "last rate" : key, dump_json(value));
  add("command", text_at(row.run, "command"));
  add("tags", join(row.tags, ", "));
  add("log", row.log);
  print_table(table, table_form(s));
  return kExitDone;
}

Result<int> run_runs(const std::vector<std::string>& given) {
  std::vector<std::string> args;
  for (const std::string& a : given) args.push_back(a == "-f" ? "--follow" : a);
  RunsSettings s;
  Schema schema("hone runs", "runs, their reports and their logs");
  s.bind(schema);
  for (const char* name : {"verb", "run"}) schema.positional(name);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  if (s.verb == "table" || s.verb == "list") {
    if (!s.run.empty()) s.folder = s.run;  // hone runs table FOLDER
    return list_runs(s);
  }
  if (s.verb == "registered")
    return list_registered_runs({.registry = s.registry, .run = s.run, .json = is_json(s)},
                                table_form(s));
  if (s.run.empty())
    return Error(err::kMissingArgument, fmt::format("'hone runs {}' needs a run", s.verb))
        .todo("name its id, its name or its output folder; hone runs table lists them");
  if (s.verb == "export") return export_run(s.run, s.folder, s.output);
  if (s.verb == "tag" && s.tags.empty()) return print_tags(s.run, s.folder);
  if (s.verb == "tag" || s.verb == "untag")
    return tag_run_by_name(s.run, s.folder, s.verb == "tag" ? s.tags : std::vector<std::string>());
  return s.verb == "show" ? show_run(s) : print_run_logs({s.run, s.folder, s.follow, s.tail});
}

}  // namespace

Command command_runs() {
  return {.name = "runs",
          .summary = "list runs, show one, follow its log",
          .in = CommandGroup::kInspect,
          .run = run_runs};
}

}  // namespace hone
