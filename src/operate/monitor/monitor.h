// Records a run while it trains: writes its log in the output folder, updates its metrics, samples its use of the
// machine, and calls the reporters of --report_to (operate/reporters/reporter.h).
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

// The reporters that --report_to names; "all" names those for which ReporterForm::is_configured() is true.
std::vector<ReporterForm> chosen_reporters(const std::vector<std::string>& report_to);

class Monitor {
 public:
  // Opens the log, the reporters and the metrics server. The settings must outlive the monitor. Errors: H3301 the
  // metrics server cannot listen; those of the reporters (Reporter::begin) and of the store.
  static Result<std::unique_ptr<Monitor>> begin(const TrainSettings& s, RunInfo info);
  // Records the run as failed by a bug if end() was not called.
  ~Monitor();

  // The callback to give to the trainer. It must not outlive the monitor.
  std::unique_ptr<TrainCallback> callback();
  // Call it when the run's memory is planned and training is about to start. The reporters get `session`
  // (Reporter::on_session()), which must outlive the trainer; null: they get none.
  void ready(int64_t planned_bytes, const Session* session = nullptr);
  // Records the end of the run. `results` are the metrics of all_results.json. Later calls do nothing.
  void end(RunEnd end, const OrderedJson& results = {});
  // Records that the run ended with an Error: its status is "refused" before the first step, else "failed". If the
  // Error is H2403 (the output folder belongs to another process), a log in a bucket is not written.
  void end(const Error& error);

  Usage usage() const;  // the last sample of the machine's use

 private:
  class Callback;
  Monitor(const TrainSettings& s, RunInfo info);
  Status open();
  void sample();  // reads the machine's use once
  void sample_until_end();
  void take_reading(int number);
  void log_progress();  // logs steps, tokens and time; does nothing before training starts
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
