#include "operate/web/run_part.h"

#include <algorithm>
#include <set>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/checkpoint/output_dir.h"
#include "operate/monitor/run_log.h"
#include "operate/registry/deciding_metric.h"
#include "operate/registry/measured_rows.h"
#include "operate/registry/policy.h"
#include "operate/registry/run_names.h"

namespace hone {
namespace {

constexpr int64_t kMostLogBytes = 4 << 20;  // of one answer
constexpr size_t kMostLines = 200;
constexpr const char* kLogLabels = "logging.googleapis.com/labels";

// The attempts of a run that found it ended: they may have evaluated it again.
std::set<std::string> later_attempts(const RunRow& row) {
  std::set<std::string> ids;
  for (const RunRow& attempt : row.earlier)
    if (attempt.ended_before && attempt.begun_s() >= row.begun_s())
      ids.insert(text_at(attempt.run, "id"));
  return ids;
}

// The lines of a run in a part of its log, by kind, and texts and metrics of its later attempts.
// The time of these metrics is the end of the training.
class LogPart {
 public:
  explicit LogPart(const RunRow& row)
      : id_(text_at(row.run, "id")), trained_(row.last_time), later_(later_attempts(row)) {}
  void take(const std::string& text) {
    const Result<OrderedJson> parsed = parse_ordered_json(text, "log");
    if (!parsed.ok() || !parsed->is_object()) return;
    const OrderedJson& line = *parsed;
    const OrderedJson labels = value_at(line, kLogLabels);
    const bool is_later = later_.contains(text_at(labels, "run"));
    if (text_at(labels, "run") != id_ && !is_later) return;
    const std::string event = text_at(line, "event"), step = text_at(labels, "step");
    if (is_later && !event.empty() && event != "log") return;
    const bool in_past = is_later && event == "log";
    OrderedJson at = {{"time", in_past ? trained_ : text_at(line, "time")}};
    if (!step.empty()) at["step"] = std::atoll(step.c_str());
    if (const OrderedJson progress = value_at(line, "progress");
        progress.is_object() && !is_later) {
      progress_.push_back(at);
      progress_.back().update(progress);
    }
    if (event.empty()) {
      at["severity"] = text_at(line, "severity");
      at["text"] = text_at(line, "message");
      lines_.push_back(std::move(at));
    } else if (event == "log") {
      at["metrics"] = value_at(line, "metrics");
      points_.push_back(std::move(at));
    } else if (event == "usage") {
      for (const auto& [key, value] : line.items())
        if (key != "severity" && key != "message" && key != "event" && key != kLogLabels)
          at[key] = value;
      usage_.push_back(std::move(at));
    } else if (event == "save") {
      at["checkpoint"] = text_at(line, "checkpoint");
      at["seconds"] = value_at(line, "seconds");
      saves_.push_back(std::move(at));
    }
  }
  void add_to(OrderedJson& answer) {
    if (lines_.size() > kMostLines)
      lines_.erase(lines_.begin(), lines_.end() - static_cast<int64_t>(kMostLines));
    answer["points"] = points_;
    answer["progress_points"] = progress_;
    answer["usage"] = usage_;
    answer["saves"] = saves_;
    answer["lines"] = lines_;
  }

 private:
  std::string id_, trained_;
  std::set<std::string> later_;
  std::vector<OrderedJson> points_, progress_, usage_, saves_, lines_;
};

// The metrics of a run of which less is better. The run's own choice counts for its best checkpoint's metric.
OrderedJson lower_is_better_json(const RunRow& row) {
  const OrderedJson& best = value_at(row.run, "best_metric");
  const OrderedJson results = results_of(row);
  OrderedJson names = OrderedJson::array();
  for (const auto& [name, value] : results.items()) {
    const bool chosen = bare_metric(name) == bare_metric(text_at(best, "name"));
    const OrderedJson& greater = value_at(best, "greater_is_better");
    if (chosen && greater.is_boolean() ? !greater.get<bool>() : lower_is_better(bare_metric(name)))
      names.push_back(name);
  }
  return names;
}

// The settings of a run that have other names than their paths.
OrderedJson named_settings(const RunRow& row) {
  const OrderedJson& settings = value_at(row.run, "settings");
  const std::string folder = text_at(row.run, "folder");
  OrderedJson named = OrderedJson::object();
  if (!settings.is_object()) return named;
  for (const auto& [key, value] : settings.items())
    if (OrderedJson name = by_name(folder, value); name != value) named[key] = std::move(name);
  return named;
}

// The hash of the rows that a run was trained on, and the settings that decide them besides its
// files; null if its folder has no record of it.
OrderedJson training_rows(const RunRow& row) {
  const std::string folder = row.log.substr(0, row.log.size() - std::string(kRunLogFile).size());
  const Result<std::string> text = file_store().read(folder + kRunFile);
  if (!text.ok()) return nullptr;
  const Result<OrderedJson> parsed = parse_ordered_json(*text, kRunFile);
  if (!parsed.ok()) return nullptr;
  const OrderedJson& record = value_at(*parsed, "run");
  const std::string hash = text_at(record, "data");
  if (hash.empty()) return nullptr;
  OrderedJson settings = {{"folder", text_at(row.run, "folder")}};
  for (const char* group : {"source", "reading", "rows", "tokenizer"})
    if (const OrderedJson& own = value_at(value_at(record, "settings"), group); own.is_object())
      settings.update(own);
  for (const auto& [name, value] : value_at(row.run, "settings").items())
    if (settings.contains(name) && settings.at(name) != value) return nullptr;  // of another run
  return {{"hash", hash}, {"settings", settings}};
}

}  // namespace

OrderedJson run_summary(const RunRow& row) {
  OrderedJson end = row.end;
  for (const char* key : {"severity", "message", "event", kLogLabels})
    if (end.is_object()) end.erase(key);
  return {{"id", text_at(row.run, "id")},
          {"name", text_at(row.run, "name")},
          {"status", row.status(system_clock().wall_seconds())},
          {"task", text_at(row.run, "task")},
          {"model", model_of_run(row)},
          {"device", text_at(row.run, "device")},
          {"begun_s", value_at(row.run, "begun_s")},
          {"last_time", row.last_time},
          {"step", row.step},
          {"attempts", row.attempts},
          {"metrics", row.metrics},
          {"metric", metric_json(metric_of_run(row))},
          {"evaluated", evaluated_by(row)},
          {"lower_is_better", lower_is_better_json(row)},
          {"best_metric", value_at(row.run, "best_metric")},
          {"best", row.best},
          {"progress", row.progress},
          {"tags", row.tags},
          {"learning_rate", value_at(value_at(row.run, "settings"), "learning_rate")},
          {"batch_size", value_at(row.run, "batch_size")},
          {"memory_planned_bytes", row.planned_bytes},
          {"end", end},
          {"log", row.log}};
}

Result<OrderedJson> run_part(const RunRow& row, int64_t from) {
  OrderedJson j = run_summary(row);
  const int64_t bytes = HONE_TRY(file_store().bytes(row.log));
  if (from > bytes) from = 0;  // the file was replaced by a shorter one
  const int64_t most = std::min(bytes - from, kMostLogBytes);
  std::string text;
  if (most > 0) text = HONE_TRY(file_store().read(row.log, from, most));
  // The last line may still be written. A line that is longer than an answer is left out.
  if (const size_t whole = text.rfind('\n'); whole != std::string::npos)
    text.resize(whole + 1);
  else if (most < kMostLogBytes)
    text.clear();
  LogPart part(row);
  for (const std::string& line : split(text, '\n')) part.take(line);
  if (from == 0) {
    j["run"] = row.run;
    j["names"] = named_settings(row);
    j["training_rows"] = training_rows(row);
  }
  j["from"] = from;
  j["next"] = from + static_cast<int64_t>(text.size());
  j["more"] = most == kMostLogBytes;
  part.add_to(j);
  return j;
}

}  // namespace hone
