// hone runs VERB ...: the runs that have a log in their output folder, and those of the registry.
#include <map>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/redact.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/monitor/run_list.h"
#include "operate/registry/registry_json.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/table.h"

namespace hone {
namespace {

struct RunsSettings {
#define HONE_SETTINGS "run/commands/runs.def"
#include "base/settings/fields.inc"
};

constexpr double kFollowSeconds = 0.5;

OrderedJson row_json(const RunRow& row) {
  OrderedJson end = row.end;
  for (const char* key : {"severity", "message", "event", "logging.googleapis.com/labels"})
    if (end.is_object()) end.erase(key);
  return {{"run", row.run},
          {"status", row.status(system_clock().wall_seconds())},
          {"attempts", row.attempts},
          {"step", row.step},
          {"metrics", row.metrics},
          {"memory_planned_bytes", row.planned_bytes},
          {"end", end},
          {"log", row.log}};
}

Result<int> print_table(const RunsSettings& s) {
  const std::vector<RunRow> rows = HONE_TRY(find_runs({s.folder}));
  if (s.format == "json") {
    for (const RunRow& row : rows) print_out(dump_json(row_json(row)) + "\n");
    return kExitDone;
  }
  if (rows.empty() && s.format == "text") {
    log_info("no runs below '{}'", s.folder);
    return kExitDone;
  }
  std::vector<std::vector<std::string>> lines = {run_columns()};
  const double now_s = system_clock().wall_seconds();
  for (const RunRow& row : rows) lines.push_back(run_cells(row, now_s));
  print_out(table_of(lines, s.format));
  return kExitDone;
}

Result<int> show_run(const RunsSettings& s) {
  const RunRow row = HONE_TRY(find_run(s.run, {s.folder}));
  if (s.format == "json") {
    print_out(dump_json(row_json(row), {.indent = 2}) + "\n");
    return kExitDone;
  }
  const std::vector<std::string> names = run_columns(),
                                 cells = run_cells(row, system_clock().wall_seconds());
  std::vector<std::vector<std::string>> lines = {{"what", "value"}};
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) lines.push_back({name, value});
  };
  for (size_t i = 0; i < names.size(); ++i) add(names[i], cells[i]);
  if (row.attempts > 1) add("attempts", std::to_string(row.attempts));
  if (row.planned_bytes >= 0) add("memory planned", format_bytes(row.planned_bytes));
  for (const auto& [key, value] : row.metrics.items()) add(key, dump_json(value));
  add("command", text_at(row.run, "command"));
  add("log", row.log);
  print_out(table_of(lines, s.format));
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
  return fmt::format("{} {}{}\n", text_at(*j, "time").substr(0, 19),
                     severity == "INFO" ? "" : severity + ": ", text_at(*j, "message"));
}

Result<int> print_logs(const RunsSettings& s) {
  const RunRow row = HONE_TRY(find_run(s.run, {s.folder}));
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
      if (std::string printed = printed_line(line, id, ended); !printed.empty())
        lines.push_back(std::move(printed));
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

Result<int> print_registered(const RunsSettings& s) {
  Registry registry = HONE_TRY(Registry::open(s.registry));
  auto models = HONE_TRY(models_of_runs(registry));
  std::vector<RegisteredRun> runs;
  if (s.run.empty())
    runs = HONE_TRY(registry.runs());
  else
    runs.push_back(HONE_TRY(registry.run(s.run)));
  if (runs.empty() && s.format == "text") {
    log_info("no runs in '{}'", registry.address());
    return kExitDone;
  }
  std::vector<std::vector<std::string>> lines = {
      {"run", "name", "task", "status", "started", "ended", "models", "data", "from"}};
  for (const RegisteredRun& r : runs) {
    if (s.format == "json") {
      OrderedJson j = run_json(r);
      j["models"] = models[r.id];
      print_out(dump_json(redact_secrets(std::move(j))) + "\n");
      continue;
    }
    const auto hash = [](const std::string& h) {  // its first 12 digits
      const size_t colon = h.find(':');
      return h.substr(0, (colon == std::string::npos ? 0 : colon + 1) + 12);
    };
    lines.push_back({r.id, r.name, r.task, r.status, r.started, r.ended, join(models[r.id], " "),
                     hash(r.data_hash), hash(r.model_hash)});
  }
  if (s.format != "json") print_out(table_of(lines, s.format));
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
  if (s.verb == "table") {
    if (!s.run.empty()) s.folder = s.run;  // hone runs table FOLDER
    return print_table(s);
  }
  if (s.verb == "registered") return print_registered(s);
  if (s.run.empty())
    return Error(err::kMissingArgument, fmt::format("'hone runs {}' needs a run", s.verb))
        .todo("name its id, its name or its output folder; hone runs table lists them");
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
