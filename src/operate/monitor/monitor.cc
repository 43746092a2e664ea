#include "operate/monitor/monitor.h"

#include <algorithm>
#include <chrono>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/log_thrown.h"
#include "learn/train/best_model.h"
#include "learn/train/errors.h"
#include "learn/train/run_ranks.h"
#include "operate/monitor/usage_metrics.h"

namespace hone {
namespace {

constexpr std::chrono::seconds kBetweenReadings{10};
constexpr int kReadingsPerLine = 3;  // of the run's log

bool asks_for(const std::vector<std::string>& report_to, const std::string& name) {
  return std::find(report_to.begin(), report_to.end(), name) != report_to.end();
}

}  // namespace

std::vector<ReporterForm> chosen_reporters(const std::vector<std::string>& report_to) {
  std::vector<ReporterForm> chosen;
  for (ReporterForm& form : all_reporter())
    if (asks_for(report_to, form.name) || (asks_for(report_to, "all") && form.is_configured()))
      chosen.push_back(std::move(form));
  return chosen;
}

// Made before training: setting them allocates nothing.
struct Monitor::RunMetrics {
  explicit RunMetrics(Metrics& m, const RunInfo& info)
      : step(m.gauge("hone_train_step", "Optimizer steps of the run that are done.")),
        planned_steps(m.gauge("hone_train_planned_steps", "Optimizer steps of the whole run.")),
        epoch(m.gauge("hone_train_epoch", "Epochs that are done.")),
        steps(m.counter("hone_train_steps_total", "Optimizer steps of this process.")),
        tokens(m.counter("hone_train_tokens_total", "Tokens that this process trained on.")),
        examples(m.counter("hone_train_examples_total", "Rows that this process trained on.")),
        seconds(m.counter("hone_train_seconds_total", "Time that this process trained.")),
        data_wait(m.counter("hone_train_data_wait_seconds_total",
                            "Time that steps waited for their rows.")),
        save_wait(m.counter("hone_train_save_wait_seconds_total",
                            "Time that training waited for checkpoints.")),
        loss(m.gauge("hone_train_loss", "Loss of the last step.")),
        grad_norm(m.gauge("hone_train_gradient_norm",
                          "Norm of the gradient, before clipping, of the last entry of the log.")),
        rate(m.gauge("hone_train_learning_rate", "Learning rate of the last entry of the log.")),
        step_seconds(m.histogram("hone_train_step_seconds", "Time of a step.",
                                 {0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300})),
        saves(m.counter("hone_checkpoints_total", "Checkpoints that this process saved.")),
        saved_step(m.gauge("hone_checkpoint_step", "Step of the last checkpoint.")),
        save_seconds(m.gauge("hone_checkpoint_write_seconds",
                             "Time that writing the last checkpoint took.")),
        planned_bytes(m.gauge("hone_memory_planned_bytes", "Memory that the run's plan takes.")) {
    m.gauge("hone_run_info", "What the run is; always 1.",
            {{"run", info.id},
             {"name", info.name},
             {"task", info.task},
             {"model", info.model},
             {"host", info.machine.host},
             {"device", info.device}})
        .set(1);
    m.gauge("process_start_time_seconds", "When the process began, since 1970.").set(info.begun_s);
  }
  LiveMetric &step, &planned_steps, &epoch, &steps, &tokens, &examples, &seconds, &data_wait,
      &save_wait, &loss, &grad_norm, &rate;
  MetricHistogram& step_seconds;
  LiveMetric &saves, &saved_step, &save_seconds, &planned_bytes;

  // The step, -1 before the first; any thread may ask.
  int64_t step_now() const {
    return planned_steps.value() > 0 ? static_cast<int64_t>(step.value()) : -1;
  }
  // Sums of this process, from which a reader computes rates and the time that is left.
  OrderedJson progress() const {
    const auto whole = [](const LiveMetric& metric) {
      return static_cast<int64_t>(metric.value());
    };
    return {{"total_steps", whole(planned_steps)},
            {"steps", whole(steps)},
            {"tokens", whole(tokens)},
            {"examples", whole(examples)},
            {"seconds", seconds.value()}};
  }
};

// Passes the trainer's events to the metrics, the run's log and every reporter.
class Monitor::Callback : public TrainCallback {
 public:
  explicit Callback(Monitor& m) : m_(m), x_(*m.run_metrics_) {}

  Status on_train_begin(const RunPlace& at) override {
    x_.step.set(static_cast<double>(at.step));  // first: step_now() is then known
    x_.planned_steps.set(static_cast<double>(at.total_steps));
    set_log_step(at.step);
    m_.log_->release();
    m_.log_progress();
    for (const auto& r : m_.reporters_) HONE_TRY(r->on_train_begin(at));
    return Ok{};
  }
  void on_step_end(const RunPlace& at, const StepReport& r) override {
    m_.stepped_ = true;
    m_.steps_ = at.step;
    m_.rows_ = r.rows;
    m_.train_seconds_ = r.seconds;
    set_log_step(at.step);
    x_.step.set(static_cast<double>(at.step));
    x_.epoch.set(at.epoch);
    x_.steps.set(static_cast<double>(r.steps));
    x_.tokens.set(static_cast<double>(r.tokens));
    x_.examples.set(static_cast<double>(r.rows));
    x_.seconds.set(r.seconds);
    x_.data_wait.set(r.data_seconds);
    x_.save_wait.set(r.save_seconds);
    x_.loss.set(r.loss);
    x_.step_seconds.observe(r.step_seconds);
    for (const auto& reporter : m_.reporters_) reporter->on_step_end(at, r);
  }
  Status on_log(const RunPlace& at, const OrderedJson& entry) override {
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_number()) continue;
      if (key == "grad_norm") x_.grad_norm.set(value);
      if (key == "learning_rate") x_.rate.set(value);
      if (key.starts_with("eval_") || key == "perplexity")
        m_.metrics_
            .gauge("hone_eval_metric", "Metrics of the last evaluation.",
                   {{"metric", key == "perplexity" ? key : key.substr(5)}})
            .set(value);
    }
    m_.log_->add_event("log", {{"metrics", entry}, {"progress", x_.progress()}}, at.step);
    for (const auto& r : m_.reporters_) HONE_TRY(r->on_log(at, entry));
    return Ok{};
  }
  void on_media(const RunPlace& at, const LogMedia& media) override {
    for (const auto& r : m_.reporters_) r->on_media(at, media);
  }
  Status on_evaluate(const RunPlace& at, const OrderedJson& metrics,
                     const BestModel& best) override {
    for (const auto& r : m_.reporters_) HONE_TRY(r->on_evaluate(at, metrics, best));
    return Ok{};
  }
  void on_save(const RunPlace& at, const std::string& checkpoint, double seconds) override {
    x_.saves.add(1);
    x_.saved_step.set(static_cast<double>(at.step));
    x_.save_seconds.set(seconds);
    m_.log_->add_event("save", {{"checkpoint", checkpoint}, {"seconds", seconds}}, at.step);
    for (const auto& r : m_.reporters_) r->on_save(at, checkpoint, seconds);
  }
  void on_train_end(const RunPlace& at) override {
    for (const auto& r : m_.reporters_) r->on_train_end(at);
  }
  void on_ended_before(const RunPlace& at, const Json& log_history) override {
    m_.log_->add_event("ended_before", OrderedJson::object(), at.step);
    for (const auto& r : m_.reporters_) r->on_ended_before(at, log_history);
  }

 private:
  Monitor& m_;
  RunMetrics& x_;
};

Monitor::Monitor(const TrainSettings& s, RunInfo info) : s_(s), info_(std::move(info)) {
  run_metrics_ = std::make_unique<RunMetrics>(metrics_, info_);
}

Result<std::unique_ptr<Monitor>> Monitor::begin(const TrainSettings& s, RunInfo info) {
  std::unique_ptr<Monitor> m(new Monitor(s, std::move(info)));
  if (Status opened = m->open(); !opened.ok()) {
    m->end(opened.error());
    return std::move(opened.error());
  }
  return m;
}

Status Monitor::open() {
  const LogLabels labels{
      {"run", info_.id}, {"host", info_.machine.host}, {"rank", std::to_string(info_.rank)}};
  set_log_labels(labels);
  log_ = HONE_TRY(RunLog::open(info_.output_dir, labels));
  OrderedJson run = info_.json();
  if (const std::optional<BestMetric> best = best_metric_of(s_))
    run["best_metric"] = {{"name", best->name}, {"greater_is_better", best->greater_is_better}};
  log_->add_event("begin", {{"run", std::move(run)}});
  const ReportSources sources{s_, info_, metrics_, [this] { return usage(); }};
  for (const ReporterForm& form : chosen_reporters(s_.report_to)) {
    std::unique_ptr<Reporter> reporter = form.make(sources);
    HONE_TRY(reporter->begin());
    reporters_.push_back(std::move(reporter));
  }
  set_log_listener([this](const LogRecord& line) {
    log_->add_line(line);
    for (const auto& r : reporters_) r->on_line(line);
  });
  if (s_.metrics_port > 0) {
    server_ = HONE_TRY(
        MetricsServer::start(metrics_, s_.metrics_host, static_cast<int>(s_.metrics_port)));
    log_info("{:<11} http://{}:{}/metrics", "metrics", s_.metrics_host, server_->port());
  }
  sample();
  sampler_ = std::thread([this] { sample_until_end(); });
  return Ok{};
}

Monitor::~Monitor() { end(RunEnd{"failed", "", "a bug in hone", 0}); }

std::unique_ptr<TrainCallback> Monitor::callback() { return std::make_unique<Callback>(*this); }

void Monitor::ready(int64_t planned_bytes, const Session* session) {
  run_metrics_->planned_bytes.set(static_cast<double>(planned_bytes));
  log_->add_event("plan", {{"planned_bytes", planned_bytes}});
  if (session == nullptr) return;
  for (const auto& r : reporters_) r->on_session(*session);
}

Usage Monitor::usage() const {
  std::lock_guard lock(mutex_);
  return usage_;
}

void Monitor::sample() {
  const Usage u = reader_.read();
  put_usage(metrics_, u, info_.machine.host);
  if (ControlClient* const control = s_.ranks->control())
    if (const auto times = control->rank_times(); times.ok()) put_rank_times(metrics_, *times);
  std::lock_guard lock(mutex_);
  usage_ = u;
  summary_.add(u);
}

void Monitor::sample_until_end() {
  for (int readings = 1;; ++readings) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kBetweenReadings, [this] { return stop_; })) return;
    }
    log_if_thrown("a reading of the machine", [&] { take_reading(readings); });
  }
}

void Monitor::take_reading(int number) {
  sample();
  if (number % kReadingsPerLine == 0)
    log_->add_event("usage", usage_json(usage()), run_metrics_->step_now());
  if (number < kReadingsPerLine || number % kReadingsPerLine == 0) log_progress();
  tell_trouble();
}

void Monitor::log_progress() {
  const int64_t step = run_metrics_->step_now();
  if (step >= 0) log_->add_event("progress", {{"progress", run_metrics_->progress()}}, step);
}

void Monitor::tell_trouble() {
  if (const std::string why = log_->take_failure(); !why.empty())
    log_warning("the run's log cannot be written: {}", why);
}

void Monitor::end(const Error& error) {
  if (log_ && error.is(err::kOutputFolderTaken)) log_->drop();
  end(RunEnd{stepped_ ? "failed" : "refused", error.code(), error.what(), 0, error.where(),
             error.remedy()});
}

void Monitor::end(RunEnd end, const OrderedJson& results) {
  if (std::exchange(ended_, true)) return;
  if (end.ended_s == 0) end.ended_s = system_clock().wall_seconds();
  if (sampler_.joinable()) {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    sampler_.join();
    sample();  // a short run has at least two readings
  }
  for (const auto& r : reporters_) r->end(end);
  set_log_listener({});
  reporters_.clear();
  server_.reset();
  if (!log_) return;
  OrderedJson members{{"status", end.status}};
  if (!end.code.empty()) members["code"] = end.code;
  if (!end.message.empty()) members["reason"] = end.message;
  if (!end.where.empty()) members["where"] = end.where;
  if (!end.todo.empty()) members["todo"] = end.todo;
  members["step"] = steps_;
  members["seconds"] = end.ended_s - info_.begun_s;
  if (train_seconds_ > 0)
    members["examples_per_second"] = static_cast<double>(rows_) / train_seconds_;
  OrderedJson usage{{"machine_cpu_share", summary_.machine_cpu_share()},
                    {"process_cores", summary_.process_cores()},
                    {"process_memory_peak_bytes", summary_.process_memory_peak_bytes()}};
  if (summary_.gpu_busy_share() >= 0) usage["gpu_busy_share"] = summary_.gpu_busy_share();
  if (summary_.gpu_memory_peak_bytes() >= 0)
    usage["gpu_memory_peak_bytes"] = summary_.gpu_memory_peak_bytes();
  members["usage"] = std::move(usage);
  if (!results.empty()) members["results"] = results;
  log_->add_event("end", members);
  log_->close();
  tell_trouble();
}

}  // namespace hone
