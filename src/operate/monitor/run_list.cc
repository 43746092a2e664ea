#include "operate/monitor/run_list.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/checkpoint/output_dir.h"
#include "operate/monitor/errors.h"
#include "operate/monitor/origin.h"
#include "operate/monitor/run_log.h"

namespace hone {
namespace {

constexpr double kLostSeconds = 120;  // usage is written every 30

double number_at(const OrderedJson& j, const char* key, double otherwise = -1) {
  const auto it = j.is_object() ? j.find(key) : j.end();
  return it != j.end() && it->is_number() ? it->get<double>() : otherwise;
}
OrderedJson object_at(const OrderedJson& j, const char* key) {
  const auto it = j.is_object() ? j.find(key) : j.end();
  return it != j.end() && it->is_object() ? *it : OrderedJson::object();
}

// Keeps the best evaluation. A metric may lack the prefix: perplexity.
void take_best(RunRow& row, const OrderedJson& metrics) {
  const OrderedJson metric = object_at(row.run, "best_metric");
  const std::string name = text_at(metric, "name");
  if (!name.starts_with("eval_")) return;
  const bool greater = value_at(metric, "greater_is_better") == true;
  for (const std::string& key : {name, name.substr(5)}) {
    const OrderedJson& value = value_at(metrics, key.c_str());
    if (!value.is_number()) continue;
    const double now = value.get<double>(), former = number_at(row.best, "value");
    if (!row.best.is_object() || (greater ? now > former : now < former))
      row.best = {{"name", key}, {"value", now}, {"step", row.step}};
    return;
  }
}

void take_event(const OrderedJson& line, std::vector<RunRow>& rows, const std::string& name) {
  const std::string event = text_at(line, "event"),
                    id = text_at(object_at(line, "logging.googleapis.com/labels"), "run");
  auto row = std::find_if(rows.begin(), rows.end(),
                          [&](const RunRow& r) { return text_at(r.run, "id") == id; });
  if (event == "begin") {
    if (row == rows.end()) {
      rows.push_back({.log = name, .run = object_at(line, "run")});
      row = rows.end() - 1;
    }
    ++row->attempts;
    row->end = nullptr;
  }
  if (row == rows.end()) return;
  if (event == "tags") {  // not a sign of life
    row->tags.clear();
    for (const OrderedJson& tag : value_at(line, "tags"))
      if (tag.is_string()) row->tags.push_back(tag);
    return;
  }
  row->last_time = text_at(line, "time");
  if (const std::string step = text_at(object_at(line, "logging.googleapis.com/labels"), "step");
      !step.empty())
    row->step = std::atoll(step.c_str());
  if (event == "plan") row->planned_bytes = static_cast<int64_t>(number_at(line, "planned_bytes"));
  if (event == "log") {
    const OrderedJson metrics = object_at(line, "metrics");
    row->metrics.update(metrics);
    take_best(*row, metrics);
  }
  if (OrderedJson progress = object_at(line, "progress"); !progress.empty()) {
    if (row->first_step < 0) row->first_step = row->step;
    row->progress = std::move(progress);
  }
  if (event == "ended_before") row->ended_before = true;
  if (event == "end") row->end = line;
}

Status find_logs(const std::string& folder, int levels, std::vector<std::string>& logs) {
  const Store::Info info = HONE_TRY(file_store().info(folder));
  if (!info.exists || !info.folder) return Ok{};
  for (const Store::Entry& e : HONE_TRY(file_store().list(folder))) {
    const std::string path = folder == "." ? e.name : folder + "/" + e.name;
    if (!e.folder && e.name == kRunLogFile) logs.push_back(path);
    if (e.folder && levels > 0 && !e.name.starts_with('.') && !e.name.starts_with("checkpoint-"))
      (void)find_logs(path, levels - 1, logs);  // a folder that may not be read has none
  }
  return Ok{};
}

// Equal for two attempts of one run: how it was continued does not count.
OrderedJson settings_of(const RunRow& row) {
  OrderedJson settings = object_at(row.run, "settings");
  settings.erase("resume_from_checkpoint");
  return settings;
}

// Whether it trained on from a checkpoint of its own output folder.
bool continues_in_folder(const RunRow& row) {
  if (row.first_step <= 0) return false;
  const std::string from = text_at(object_at(row.run, "settings"), "resume_from_checkpoint");
  return from.empty() || to_lower(from) == "true" ||
         from.starts_with(without_end_slash(text_at(row.run, "output_dir")) + "/");
}

// Whether `row` is another attempt of the run of `before`.
bool is_same_run(const RunRow& before, const RunRow& row) {
  if (before.log != row.log) return false;
  const bool finished = text_at(before.end, "status") == "finished";
  if (row.ended_before) return finished;
  if (!finished && settings_of(before) == settings_of(row)) return true;
  return before.first_step >= 0 && continues_in_folder(row);
}

// Metrics of `more` take the place of those of `metrics`.
void add_metrics(OrderedJson& metrics, const OrderedJson& more) {
  if (!metrics.is_object()) metrics = more;
  if (more.is_object()) metrics.update(more);
}

bool has_evaluation(const RunRow& row) {
  const OrderedJson results = results_of(row);
  for (const auto& [name, value] : results.items())
    if (name.starts_with("eval_")) return true;
  return false;
}

// Adds an attempt that found the run ended: its evaluation takes the place of that of the same step.
void add_idle(RunRow& run, RunRow idle) {
  run.attempts += idle.attempts;
  add_metrics(run.metrics, idle.metrics);
  if (const OrderedJson& results = value_at(idle.end, "results"); results.is_object())
    add_metrics(run.end["results"], results);
  if (idle.best.is_object() && value_at(idle.best, "name") == value_at(run.best, "name") &&
      value_at(idle.best, "step") == value_at(run.best, "step"))
    run.best = idle.best;
  if (has_evaluation(idle)) run.evaluator = idle.run;
  run.earlier.push_back(std::move(idle));
}

// Adds the attempt that `run` continues.
void add_before(RunRow& run, RunRow before) {
  if (!has_evaluation(run) && has_evaluation(before))
    run.evaluator = before.evaluator.is_object() ? before.evaluator : before.run;
  run.attempts += before.attempts;
  OrderedJson metrics = before.metrics;
  add_metrics(metrics, run.metrics);
  run.metrics = std::move(metrics);
  if (run.planned_bytes < 0) run.planned_bytes = before.planned_bytes;
  run.earlier = std::exchange(before.earlier, {});
  run.earlier.push_back(std::move(before));
}

std::string percent(double share) { return share < 0 ? "" : fmt::format("{:.0f}%", share * 100); }
std::string size_text(double bytes) {
  return bytes < 0 ? "" : format_bytes(static_cast<int64_t>(bytes));
}

}  // namespace

std::string RunRow::status(double now_s) const {
  if (end.is_object()) return text_at(end, "status");
  return now_s - parse_utc(last_time) > kLostSeconds ? "lost" : "running";
}

void add_log_lines(std::string_view text, const std::string& name, std::vector<RunRow>& rows) {
  for (const std::string& line : split(text, '\n')) {
    if (line.find("\"event\"") == std::string::npos) continue;
    const Result<OrderedJson> parsed = parse_ordered_json(line, name);
    if (parsed.ok() && parsed->is_object()) take_event(*parsed, rows, name);
  }
}

std::vector<RunRow> runs_in_log(std::string_view text, const std::string& name) {
  std::vector<RunRow> rows;
  add_log_lines(text, name, rows);
  return rows;
}

Status tag_run(const RunRow& row, const std::vector<std::string>& tags) {
  const int64_t bytes = HONE_TRY(file_store().bytes(row.log));
  const std::string last = bytes > 0 ? HONE_TRY(file_store().read(row.log, bytes - 1, 1)) : "\n";
  const std::string event = dump_json(OrderedJson{{"event", "tags"}, {"tags", tags}});
  const std::string line = log_json({.level = LogLevel::kInfo,
                                     .wall_seconds = system_clock().wall_seconds(),
                                     .message = "",
                                     .data = std::string_view(event).substr(1, event.size() - 2)},
                                    {{"run", text_at(row.run, "id")}});
  const auto log = HONE_TRY(file_store().append(row.log));
  // A process that was killed may have left half a line.
  HONE_TRY(log->write((last == "\n" ? "" : "\n") + line + "\n"));
  return log->commit();
}

Result<std::vector<std::string>> find_run_logs(const std::vector<std::string>& folders) {
  std::vector<std::string> logs;
  for (const std::string& folder : folders)
    HONE_TRY(find_logs(without_end_slash(folder), kSearchedLevels, logs));
  return logs;
}

void remove_copies(std::vector<RunRow>& rows) {
  std::map<std::string, std::string> log_of;  // by id; attempts that share one are in one log
  std::erase_if(rows, [&](const RunRow& row) {
    const std::string id = text_at(row.run, "id");
    return !id.empty() && log_of.emplace(id, row.log).first->second != row.log;
  });
}

double RunRow::begun_s() const { return number_at(run, "begun_s", 0); }

Result<std::vector<RunRow>> find_runs(const std::vector<std::string>& folders) {
  std::vector<RunRow> rows;
  for (const std::string& log : HONE_TRY(find_run_logs(folders)))
    for (RunRow& row : runs_in_log(HONE_TRY(file_store().read(log)), log))
      rows.push_back(std::move(row));
  remove_copies(rows);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const RunRow& a, const RunRow& b) { return a.begun_s() < b.begun_s(); });
  return rows;
}

Result<RunRow> find_run(const std::string& run, const std::vector<std::string>& folders) {
  std::vector<RunRow> rows = HONE_TRY(find_runs(folders));
  const std::string log = without_end_slash(run) + "/" + kRunLogFile;
  if (HONE_TRY(file_store().exists(log))) rows = runs_in_log(HONE_TRY(file_store().read(log)), log);
  const bool has_runs = !rows.empty();
  const auto has_id = [&](const RunRow& row) { return text_at(row.run, "id") == run; };
  std::optional<RunRow> attempt;
  if (const auto at = std::ranges::find_if(rows, has_id); at != rows.end()) attempt = *at;
  std::vector<RunRow> runs = with_attempts(std::move(rows));
  if (const auto at = std::ranges::find_if(runs, has_id); at != runs.end()) return std::move(*at);
  if (attempt) return std::move(*attempt);
  const auto has_name = [&](const RunRow& row) { return text_at(row.run, "name") == run; };
  const int64_t named = std::ranges::count_if(runs, has_name);
  for (auto row = runs.rbegin(); row != runs.rend(); ++row) {
    if (row->log != log && !has_name(*row)) continue;
    if (has_name(*row)) row->namesakes = named - 1;
    return std::move(*row);
  }
  return Error(err::kNoRun, fmt::format("no run has the id, name or folder '{}'", run))
      .at(join(folders, " "))
      .todo(!has_runs ? "name a folder that holds runs by --folder"
                      : "hone runs table lists all runs");
}

std::vector<RunRow> with_attempts(std::vector<RunRow> rows) {
  std::vector<RunRow> runs;
  for (RunRow& row : rows) {
    const auto same = std::find_if(runs.rbegin(), runs.rend(),
                                   [&](const RunRow& r) { return is_same_run(r, row); });
    if (same == runs.rend()) {
      runs.push_back(std::move(row));
      continue;
    }
    RunRow before = std::move(*same);
    runs.erase(std::next(same).base());
    if (row.ended_before) {
      add_idle(before, std::move(row));
      runs.push_back(std::move(before));
    } else {
      add_before(row, std::move(before));
      runs.push_back(std::move(row));
    }
  }
  return runs;
}

OrderedJson results_of(const RunRow& row) {
  OrderedJson all = row.metrics.is_object() ? row.metrics : OrderedJson::object();
  if (const OrderedJson& results = value_at(row.end, "results"); results.is_object())
    all.update(results);
  return all;
}

std::string model_of_run(const RunRow& row) {
  std::string model = text_at(row.run, "model");
  const std::string folder = text_at(row.run, "folder"),
                    path = model.starts_with('/') || folder.empty() ? model : folder + "/" + model;
  std::string name = model_name_of(path);
  return name == path ? model : name;
}

std::vector<Column> run_columns() {
  using C = Column;
  return {{.name = "run", .kind = C::kName},
          {.name = "train loss", .kind = C::kNumber, .priority = 1},
          {.name = "lr", .kind = C::kNumber, .priority = 1},
          {.name = "model", .kind = C::kName, .priority = 1},
          {.name = "status", .kind = C::kWord},
          {.name = "attempts", .kind = C::kNumber, .priority = 3},
          {.name = "reason", .kind = C::kSentence},
          {.name = "step", .kind = C::kNumber, .priority = 4},
          {.name = "task", .kind = C::kWord, .priority = 5},
          {.name = "batch size", .kind = C::kNumber, .priority = 6},
          {.name = "seconds", .kind = C::kNumber, .priority = 6},
          {.name = "examples/s", .kind = C::kNumber, .priority = 7},
          {.name = "device", .kind = C::kWord, .priority = 7},
          {.name = "devices", .kind = C::kNumber, .priority = 8},
          {.name = "memory", .kind = C::kWord, .priority = 8},
          {.name = "GPU memory", .kind = C::kWord, .priority = 8},
          {.name = "CPU", .kind = C::kNumber, .priority = 8},
          {.name = "GPU", .kind = C::kNumber, .priority = 8},
          {.name = "machine", .kind = C::kName, .priority = 9},
          {.name = "id", .kind = C::kWord, .priority = 2}};
}

std::vector<std::string> run_cells(const RunRow& row, double now_s) {
  const OrderedJson machine = object_at(row.run, "machine"), usage = object_at(row.end, "usage");
  const double memory = number_at(machine, "memory_bytes"),
               peak = number_at(usage, "process_memory_peak_bytes"),
               gpu_memory = number_at(machine, "gpu_memory_bytes") * number_at(machine, "gpus"),
               gpu_peak = number_at(usage, "gpu_memory_peak_bytes");
  const std::string type = text_at(machine, "type");
  const OrderedJson results = object_at(row.end, "results");
  const double loss = number_at(results, "train_loss", number_at(row.metrics, "loss"));
  // The speed of the whole training, with saves and evaluations, where the run ended well.
  const double rate = number_at(results, "train_samples_per_second",
                                number_at(row.end, "examples_per_second")),
               seconds = number_at(row.end, "seconds"),
               lr = number_at(object_at(row.run, "settings"), "learning_rate");
  const std::string code = text_at(row.end, "code");
  return {text_at(row.run, "name"),
          loss < 0 ? "" : fmt::format("{:.4f}", loss),
          lr < 0 ? "" : fmt::format("{:.6g}", lr),
          model_of_run(row),
          row.status(now_s),
          row.attempts > 1 ? fmt::format("{}", row.attempts) : "",
          (code.empty() ? "" : code + " ") + text_at(row.end, "reason"),
          fmt::format("{}", row.step),
          text_at(row.run, "task"),
          fmt::format("{:.0f}", number_at(row.run, "batch_size", 0)),
          seconds < 0 ? "" : fmt::format("{:.0f}", seconds),
          rate < 0 ? "" : fmt::format("{:.2f}", rate),
          text_at(row.run, "device"),
          fmt::format("{:.0f}", number_at(row.run, "devices", 0)),
          peak < 0 ? "" : fmt::format("{} ({})", size_text(peak), percent(peak / memory)),
          gpu_peak < 0 || gpu_memory <= 0
              ? ""
              : fmt::format("{} ({})", size_text(gpu_peak), percent(gpu_peak / gpu_memory)),
          percent(number_at(usage, "machine_cpu_share")),
          percent(number_at(usage, "gpu_busy_share")),
          type.empty() ? fmt::format("{} ({:.0f})", text_at(machine, "cpu"),
                                     number_at(machine, "processors", 0))
                       : type,
          text_at(row.run, "id")};
}

}  // namespace hone
