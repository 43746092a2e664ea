// Records a run while it trains: its log in the output folder, its metrics, its use of the machine,
// and the reporters of --report_to.
//   auto monitor = HONE_TRY(Monitor::begin(settings, info));
//   trainer.add_callback(monitor->callback());
//   ...
//   monitor->end({.status = "finished"}, metrics);
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "operate/monitor/metrics_server.h"
#include "operate/monitor/run_log.h"
#include "operate/reporters/reporter.h"
#include "operate/telemetry/metrics.h"

namespace hone {

// The reporters of --report_to; "all" takes the configured ones.
std::vector<ReporterForm> chosen_reporters(const std::vector<std::string>& report_to);

class Monitor {
 public:
  // The settings must outlive the monitor. Errors: H3301; those of the reporters (Reporter::begin)
  // and of the store.
  static Result<std::unique_ptr<Monitor>> begin(const TrainSettings& s, RunInfo info);
  // Records the run as failed by a bug if end() was not called.
  ~Monitor();

  // The callback to give to the trainer. It must not outlive the monitor.
  std::unique_ptr<TrainCallback> callback();
  // Called when the run fits and is about to start. The session must outlive the trainer.
  void ready(int64_t planned_bytes, const Session* session = nullptr);
  // `results` are the run's metrics, as in all_results.json. Later calls do nothing.
  void end(RunEnd end, const OrderedJson& results = {});
  // Ends the run with an Error. Its status is "refused" before the first step, else "failed". After
  // H2403 a log in a bucket is not written: the folder belongs to another process.
  void end(const Error& error);

  Usage usage() const;  // the last reading

 private:
  class Callback;
  Monitor(const TrainSettings& s, RunInfo info);
  Status open();
  void sample();  // one reading
  void sample_until_end();
  void take_reading(int number);
  void log_progress();  // steps, tokens and time; nothing before training starts
  void tell_trouble();

  const TrainSettings& s_;
  RunInfo info_;
  Metrics metrics_;
  struct RunMetrics;
  std::unique_ptr<RunMetrics> run_metrics_;
  std::unique_ptr<RunLog> log_;
  std::vector<std::unique_ptr<Reporter>> reporters_;
  std::unique_ptr<MetricsServer> server_;
  UsageReader reader_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  Usage usage_;
  UsageSummary summary_;
  bool stop_ = false;
  std::thread sampler_;
  bool ended_ = false, stepped_ = false;
  int64_t steps_ = 0, rows_ = 0;
  double train_seconds_ = 0;
};

}  // namespace hone
