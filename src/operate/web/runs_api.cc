// Serves training runs in a folder: their settings, curves and logs.
#include <algorithm>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/monitor/errors.h"
#include "operate/web/api.h"

namespace hone {
namespace {

constexpr int64_t kMostLogBytes = 4 << 20;  // of one answer
constexpr size_t kMostLines = 200;
constexpr const char* kLabels = "logging.googleapis.com/labels";

OrderedJson member(const OrderedJson& object, const char* key) {
  const auto it = object.is_object() ? object.find(key) : object.end();
  return it == object.end() ? OrderedJson() : *it;
}

OrderedJson summary_of(const RunRow& row) {
  OrderedJson end = row.end;
  for (const char* key : {"severity", "message", "event", kLabels})
    if (end.is_object()) end.erase(key);
  return {{"id", text_at(row.run, "id")},
          {"name", text_at(row.run, "name")},
          {"status", row.status(system_clock().wall_seconds())},
          {"task", text_at(row.run, "task")},
          {"model", text_at(row.run, "model")},
          {"device", text_at(row.run, "device")},
          {"begun_s", member(row.run, "begun_s")},
          {"last_time", row.last_time},
          {"step", row.step},
          {"attempts", row.attempts},
          {"metrics", row.metrics},
          {"memory_planned_bytes", row.planned_bytes},
          {"end", end},
          {"log", row.log}};
}

// The lines of a run in a part of its log, by kind.
class LogPart {
 public:
  explicit LogPart(std::string id) : id_(std::move(id)) {}
  void take(const std::string& text) {
    const Result<OrderedJson> parsed = parse_ordered_json(text, "log");
    if (!parsed.ok() || !parsed->is_object()) return;
    const OrderedJson& line = *parsed;
    const OrderedJson labels = member(line, kLabels);
    if (text_at(labels, "run") != id_) return;
    const std::string event = text_at(line, "event"), step = text_at(labels, "step");
    OrderedJson at = {{"time", text_at(line, "time")}};
    if (!step.empty()) at["step"] = std::atoll(step.c_str());
    if (event.empty()) {
      at["severity"] = text_at(line, "severity");
      at["text"] = text_at(line, "message");
      lines_.push_back(std::move(at));
    } else if (event == "log") {
      at["metrics"] = member(line, "metrics");
      points_.push_back(std::move(at));
    } else if (event == "usage") {
      for (const auto& [key, value] : line.items())
        if (key != "severity" && key != "message" && key != "event" && key != kLabels)
          at[key] = value;
      usage_.push_back(std::move(at));
    } else if (event == "save") {
      at["checkpoint"] = text_at(line, "checkpoint");
      at["seconds"] = member(line, "seconds");
      saves_.push_back(std::move(at));
    }
  }
  void add_to(OrderedJson& answer) {
    if (lines_.size() > kMostLines)
      lines_.erase(lines_.begin(), lines_.end() - static_cast<int64_t>(kMostLines));
    answer["points"] = points_;
    answer["usage"] = usage_;
    answer["saves"] = saves_;
    answer["lines"] = lines_;
  }

 private:
  std::string id_;
  std::vector<OrderedJson> points_, usage_, saves_, lines_;
};

}  // namespace

Result<std::vector<RunRow>> RunsApi::rows() {
  const std::vector<std::string> found = HONE_TRY(find_run_logs({folder_}));
  std::lock_guard lock(mutex_);
  std::map<std::string, Log> now;
  std::vector<RunRow> all;
  for (const std::string& name : found) {
    if (!is_regular(name)) continue;  // it was removed since, or is a pipe
    const Result<int64_t> bytes = file_store().bytes(name);
    if (!bytes.ok()) continue;
    Log log = std::move(logs_[name]);
    if (log.bytes != *bytes) {
      const Result<std::string> text = file_store().read(name);
      if (!text.ok()) continue;
      log.rows = runs_in_log(*text, name);
      log.bytes = static_cast<int64_t>(text->size());
    }
    all.insert(all.end(), log.rows.begin(), log.rows.end());
    now[name] = std::move(log);
  }
  logs_ = std::move(now);
  std::stable_sort(all.begin(), all.end(), [](const RunRow& a, const RunRow& b) {
    const auto begun = [](const RunRow& r) {
      const OrderedJson s = member(r.run, "begun_s");
      return s.is_number() ? s.get<double>() : 0;
    };
    return begun(a) > begun(b);
  });
  return all;
}

WebAnswer RunsApi::answer(const ApiRequest& request) {
  const auto answer = [&]() -> Result<WebAnswer> {
    const std::vector<RunRow> all = HONE_TRY(rows());
    if (request.parts.empty()) {
      OrderedJson runs = OrderedJson::array();
      for (const RunRow& row : all) runs.push_back(summary_of(row));
      return api_answer({{"folder", folder_}, {"runs", runs}});
    }
    const std::string& id = request.parts[0];
    const auto row = std::find_if(all.begin(), all.end(),
                                  [&](const RunRow& r) { return text_at(r.run, "id") == id; });
    if (row == all.end() || request.parts.size() > 1)
      return Error(err::kNoRun, fmt::format("no run has the id '{}'", id)).at(folder_);
    OrderedJson j = summary_of(*row);
    const int64_t bytes = HONE_TRY(file_store().bytes(row->log));
    int64_t from = request.number("from", 0, INT64_MAX / 2);
    if (from > bytes) from = 0;  // the file was replaced by a shorter one
    const int64_t most = std::min(bytes - from, kMostLogBytes);
    std::string text;
    if (most > 0) text = HONE_TRY(file_store().read(row->log, from, most));
    // The last line may still be written. A line that is longer than an answer is left out.
    if (const size_t whole = text.rfind('\n'); whole != std::string::npos)
      text.resize(whole + 1);
    else if (most < kMostLogBytes)
      text.clear();
    LogPart part(id);
    for (const std::string& line : split(text, '\n')) part.take(line);
    if (from == 0) j["run"] = row->run;
    j["from"] = from;
    j["next"] = from + static_cast<int64_t>(text.size());
    j["more"] = most == kMostLogBytes;
    part.add_to(j);
    return api_answer(j);
  };
  Result<WebAnswer> given = answer();
  return given.ok() ? std::move(*given) : api_failure(given.error());
}

}  // namespace hone
