// The interface of reporters. Each file of operate/reporters is one and defines `ReporterForm
// reporter_<file>();` (a file x.h makes x.cc a helper).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/log.h"
#include "learn/train/callback.h"
#include "operate/reporters/run_info.h"
#include "operate/telemetry/metrics.h"
#include "operate/telemetry/usage.h"

namespace hone {

class Session;
struct TrainSettings;

// The sources of a report; they outlive the reporter.
struct ReportSources {
  const TrainSettings& settings;
  const RunInfo& info;
  const Metrics& metrics;
  std::function<Usage()> usage;  // the last reading
};

// A TrainCallback with events before and after training. All calls come from the training thread,
// except on_line(). After begin() no call waits for a server, and none ends the run.
class Reporter : public TrainCallback {
 public:
  // Called before the model is opened. An Error ends the run: the reporter cannot work.
  virtual Status begin() = 0;
  // Called when the programs are compiled and the weights loaded. The session lives until
  // on_train_end().
  virtual void on_session(const Session& /*session*/) {}
  // Receives a line of the log, on any thread; must not log.
  virtual void on_line(const LogRecord& /*line*/) {}
  // Sends everything pending before it returns, or drops it.
  virtual void end(const RunEnd& /*end*/) {}
};

struct ReporterForm {
  std::string name;                     // in --report_to
  std::function<bool()> is_configured;  // by its variables; "all" takes only these
  std::function<std::unique_ptr<Reporter>(const ReportSources&)> make;
};

std::vector<ReporterForm> all_reporter();  // the shelf, by name of file

// "train/loss", "eval/accuracy", "train/epoch" for "loss", "eval_accuracy", "epoch": Transformers'
// names for entries of log_history.
std::string report_name(const std::string& key);

}  // namespace hone
