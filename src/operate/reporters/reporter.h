// Who a run is reported to. Each file of operate/reporters is one and defines
// `ReporterForm reporter_<file>();` (a file x.h makes x.cc a helper).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/log.h"
#include "learn/train/callback.h"
#include "operate/metrics/metrics.h"
#include "operate/reporters/run_info.h"
#include "operate/usage/usage.h"

namespace hone {

class Session;
struct TrainSettings;

// What there is to report from, for as long as the reporter lives.
struct ReportSources {
  const TrainSettings& settings;
  const RunInfo& info;
  const Metrics& metrics;
  std::function<Usage()> usage;  // the last reading
};

// A TrainCallback that also hears of what is before and after training. All calls come from the thread
// that trains, except on_line(). No call waits for a server after begin(), and none ends the run.
class Reporter : public TrainCallback {
 public:
  // Before the model is opened. An Error ends the run before it begins: what was asked for cannot be
  // had.
  virtual Status begin() = 0;
  // The programs are compiled and the weights loaded. The session lives until on_train_end().
  virtual void on_session(const Session& /*session*/) {}
  // A line of the log; from any thread, must not log.
  virtual void on_line(const LogRecord& /*line*/) {}
  // All that is to be sent is sent when it returns, or given up.
  virtual void end(const RunEnd& /*end*/) {}
};

struct ReporterForm {
  std::string name;                     // in --report_to
  std::function<bool()> is_configured;  // by its variables; "all" takes those alone
  std::function<std::unique_ptr<Reporter>(const ReportSources&)> make;
};

std::vector<ReporterForm> all_reporter();  // the shelf, by name of file

// "train/loss", "eval/accuracy", "train/epoch" for "loss", "eval_accuracy", "epoch": the names under
// which Transformers reports entries of log_history.
std::string report_name(const std::string& key);

}  // namespace hone
