// hone runs VERB ...: the runs that have a log in their output folder, and those of the registry.
#include <set>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/monitor/run_list.h"
#include "run/commands/command.h"
#include "run/commands/deciding_metric.h"
#include "run/commands/errors.h"
#include "run/commands/print_table.h"
#include "run/commands/runs_export.h"
#include "run/commands/runs_registered.h"

namespace hone {
namespace {

struct RunsSettings {
#define HONE_SETTINGS "run/commands/runs.def"
#include "base/settings/fields.inc"
};

constexpr double kFollowSeconds = 0.5;

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

OrderedJson results_of(const RunRow& row) {
  OrderedJson all = row.metrics.is_object() ? row.metrics : OrderedJson::object();
  if (const OrderedJson& results = value_at(row.end, "results"); results.is_object())
    all.update(results);
  return all;
}

// The loss of training has a column of its own.
std::optional<DecidingMetric> metric_of_run(const RunRow& row) {
  auto metric =
      deciding_metric(results_of(row), text_at(row.run, "task"), value_at(row.run, "settings"));
  return metric && metric->name == "train_loss" ? std::nullopt : metric;
}

// The name of the run, what decides, then its facts.
TextTable table_of_runs(const std::vector<RunRow>& rows) {
  std::vector<std::optional<DecidingMetric>> of_rows;
  for (const RunRow& row : rows) of_rows.push_back(metric_of_run(row));
  MetricColumns metrics = metric_columns(of_rows);
  std::vector<Column> columns = run_columns();
  // Only the id tells runs of one name apart.
  std::set<std::string> names;
  for (const RunRow& row : rows) names.insert(text_at(row.run, "name"));
  if (names.size() < rows.size())
    for (Column& column : columns)
      if (column.name == "id") column.priority = 0;
  columns.insert(columns.begin() + 1, metrics.columns.begin(), metrics.columns.end());
  TextTable table(columns);
  const double now_s = system_clock().wall_seconds();
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> cells = run_cells(rows[i], now_s);
    cells.insert(cells.begin() + 1, metrics.cells[i].begin(), metrics.cells[i].end());
    table.add(std::move(cells));
  }
  return table;
}

Result<int> list_runs(const RunsSettings& s) {
  const std::vector<RunRow> rows = with_attempts(HONE_TRY(find_runs({s.folder})));
  if (is_json(s)) {
    for (const RunRow& row : rows) print_out(dump_json(row_json(row)) + "\n");
    return kExitDone;
  }
  if (rows.empty() && table_form(s).format == "text") {
    log_info("no runs below '{}'", s.folder);
    return kExitDone;
  }
  print_table(table_of_runs(rows), table_form(s));
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

// "2026-05-04T12:30:05 WARNING: the text" of a line that a run printed; "" of another one.
std::string printed_line(const std::string& line, const std::string& id, bool& ended) {
  const Result<OrderedJson> j = parse_ordered_json(line, "log");
  if (!j.ok() || !j->is_object()) return "";
  const auto labels = j->find("logging.googleapis.com/labels");
  if (labels == j->end() || text_at(*labels, "run") != id) return "";
  const std::string event = text_at(*j, "event");
  ended = event == "end" || (ended && event != "begin");
  if (!event.empty()) return "";
  const std::string severity = text_at(*j, "severity");
  return fmt::format("{} {}{}", text_at(*j, "time").substr(0, 19),
                     severity == "INFO" ? "" : severity + ": ", text_at(*j, "message"));
}

Result<int> print_logs(const RunsSettings& s) {
  const RunRow row = HONE_TRY(found_run(s.run, s.folder));
  const std::string id = text_at(row.run, "id");
  install_stop_handlers();
  bool ended = false, first = true;
  for (int64_t shown = 0; !stop_requested();) {
    const int64_t bytes = HONE_TRY(file_store().bytes(row.log));
    std::string text;
    if (bytes > shown) text = HONE_TRY(file_store().read(row.log, shown, bytes - shown));
    text.resize(text.rfind('\n') + 1);  // the last line may still be written
    std::vector<std::string> lines;
    for (const std::string& line : split(text, '\n'))
      if (const std::string printed = printed_line(line, id, ended); !printed.empty())
        for (const std::string& one : split(printed, '\n')) lines.push_back(one + "\n");
    shown += static_cast<int64_t>(text.size());
    const auto most = static_cast<size_t>(s.tail);
    for (size_t i = first && most > 0 && lines.size() > most ? lines.size() - most : 0;
         i < lines.size(); ++i)
      print_out(lines[i]);
    first = false;
    if (!s.follow || ended) return kExitDone;
    system_clock().sleep(kFollowSeconds);
  }
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
  return s.verb == "show" ? show_run(s) : print_logs(s);
}

}  // namespace

Command command_runs() {
  return {.name = "runs",
          .summary = "list runs, show one, follow its log",
          .in = CommandGroup::kInspect,
          .run = run_runs};
}

}  // namespace hone
