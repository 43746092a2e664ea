// The interface of reporters, which report the progress of a run to a tool such as TensorBoard or MLflow. Each .cc file
// of operate/reporters without a header of the same name is a reporter, and defines `ReporterForm reporter_<file>();`.
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

// The objects from which a reporter reads; they outlive the reporter.
struct ReportSources {
  const TrainSettings& settings;
  const RunInfo& info;
  const Metrics& metrics;
  std::function<Usage()> usage;  // returns the last sample of the machine's CPU, memory and GPU use
};

// A TrainCallback with further events before and after training. All calls come from the training thread,
// except on_line(). After begin() no call may end the run, and only end() may wait for a server.
class Reporter : public TrainCallback {
 public:
  // Called before the model is opened. Returns an Error if the reporter cannot work; the Error ends the run.
  virtual Status begin() = 0;
  // Called when the session has compiled the model and loaded the weights. The session lives until
  // on_train_end().
  virtual void on_session(const Session& /*session*/) {}
  // Receives a line of the log, on any thread. It must not log itself.
  virtual void on_line(const LogRecord& /*line*/) {}
  // Sends everything pending before it returns, or drops it.
  virtual void end(const RunEnd& /*end*/) {}
};

struct ReporterForm {
  std::string name;  // its name in --report_to
  // Whether the reporter's environment variables are set: --report_to all uses only configured reporters.
  std::function<bool()> is_configured;
  std::function<std::unique_ptr<Reporter>(const ReportSources&)> make;
};

std::vector<ReporterForm> all_reporter();  // all reporters, sorted by the names of their files

// The name under which Transformers reports a metric of log_history: "train/loss" for "loss", "eval/accuracy" for
// "eval_accuracy", "train/epoch" for "epoch".
std::string report_name(const std::string& key);

}  // namespace hone
