// Weights & Biases, with the files of its offline client: `wandb sync` uploads the folder.
// https://docs.wandb.ai/guides/track/environment-variables, and Transformers' WandbCallback for
// names.
#include <time.h>

#include <mutex>
#include <optional>
#include <set>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "operate/reporters/errors.h"
#include "operate/reporters/line_box.h"
#include "operate/reporters/report_server.h"
#include "operate/reporters/reporter.h"
#include "operate/reporters/ticker.h"
#include "operate/reporters/wandb_records.h"

namespace hone {
namespace {

constexpr double kWandbFlushSeconds = 1;
constexpr int kWandbFlushesPerStats = 15;  // the client reads the machine every 15 s

std::string local_time_text(double wall_seconds) {
  const auto seconds = static_cast<time_t>(wall_seconds);
  tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  const size_t length = strftime(text, sizeof text, "%Y%m%d_%H%M%S", &local);
  return {text, length};
}

class WandbReporter : public Reporter {
 public:
  explicit WandbReporter(const ReportSources& sources) : from_(sources) {}

  Status begin() override {
    const std::string mode = to_lower(environment("WANDB_MODE"));
    const std::string off = to_lower(environment("WANDB_DISABLED"));
    if (mode == "disabled" || off == "true" || off == "1") return Ok{};
    std::string id = environment("WANDB_RUN_ID");
    if (id.empty()) id = from_.info.id;
    if (id.find_first_of("/\\#?%:") != std::string::npos)
      return Error(err::kReporterSetting, fmt::format("WANDB_RUN_ID is not an id: '{}'", id))
          .todo("leave out /, \\, #, ?, % and :");
    std::string folder = environment("WANDB_DIR");
    folder = without_end_slash(folder);
    folder_ = fmt::format("{}wandb/offline-run-{}-{}", folder.empty() ? "" : folder + "/",
                          local_time_text(from_.info.begun_s), id);
    HONE_TRY(file_store().make_dirs(folder_ + "/files"));
    {
      std::lock_guard lock(mutex_);
      file_.emplace(HONE_TRY(WandbFile::create(fmt::format("{}/run-{}.wandb", folder_, id), id)));
      file_->add(WandbRecord::run, wandb_run(from_.info, id));
      file_->add(WandbRecord::environment, wandb_environment(from_.info));
      file_->add(WandbRecord::metric, wandb_metric("train/global_step", "", ""));
      file_->add(WandbRecord::metric, wandb_metric("", "*", "train/global_step"));
      HONE_TRY(file_->flush());
    }
    lines_.open();
    log_info("{:<11} {}", "wandb", folder_);
    ticker_.emplace(kWandbFlushSeconds, [this, n = 0]() mutable {
      const Usage usage = from_.usage();
      std::lock_guard lock(mutex_);
      if (n++ % kWandbFlushesPerStats == 0) add_usage(usage);
      add_lines();
      keep(file_->flush());
    });
    return Ok{};
  }

  Status on_log(const RunPlace& at, const OrderedJson& entry) override {
    // Transformers puts what comes once, at the end, into the summary alone.
    static const std::set<std::string> once = {"train_runtime", "train_samples_per_second",
                                               "train_steps_per_second", "train_loss",
                                               "total_flos"};
    const double now = system_clock().wall_seconds();
    WandbItems history, summary;
    for (const auto& [key, value] : entry.items())
      if (value.is_primitive() && !value.is_null() && key != "step") {
        if (once.contains(key))
          summary.emplace_back(key, report_json(value));
        else
          history.emplace_back(report_name(key), report_json(value));
      }
    {
      std::lock_guard lock(mutex_);
      if (!file_) return Ok{};
      if (!history.empty()) {
        history.emplace_back("train/global_step", std::to_string(at.step));
        history.emplace_back("_timestamp", report_json(now));
        history.emplace_back("_runtime", report_json(now - from_.info.begun_s));
        history.emplace_back("_step", std::to_string(entries_));
        file_->add(WandbRecord::history, wandb_history(entries_++, history));
        summary.insert(summary.end(), history.begin(), history.end());
      }
      file_->add(WandbRecord::summary, wandb_summary(summary));
      add_lines();
      keep(file_->flush());
    }
    tell_trouble();
    return Ok{};
  }

  void on_line(const LogRecord& line) override {
    const char* word = line.level == LogLevel::kWarning ? "warning: " : "";
    lines_.add(wandb_output(line.wall_seconds, fmt::format("{}{}\n", word, line.message),
                            line.level == LogLevel::kError));
  }

  void end(const RunEnd& end) override {
    ticker_.reset();
    if (folder_.empty()) return;
    log_info("wandb sync {} uploads it", folder_);
    lines_.close();
    const Usage usage = from_.usage();
    {
      std::lock_guard lock(mutex_);
      if (!file_) return;
      add_usage(usage);
      add_lines();
      const double seconds = system_clock().wall_seconds() - from_.info.begun_s;
      const std::string runtime = std::to_string(static_cast<int64_t>(seconds));
      file_->add(WandbRecord::summary, wandb_summary({{"_runtime", runtime}}));
      // 255 is what the client notes after an interrupt.
      const int code = end.status == "finished" ? 0 : end.status == "stopped" ? 255 : 1;
      file_->add(WandbRecord::exit, wandb_exit(code, seconds));
      keep(file_->close());
      file_.reset();
    }
    tell_trouble();
  }

 private:
  // The mutex is held.
  void add_usage(const Usage& u) {
    if (u.wall_seconds <= 0) return;  // none is read yet
    if (!first_usage_) first_usage_ = u;
    file_->add(
        WandbRecord::stats,
        wandb_stats(u.wall_seconds, wandb_usage(u, *first_usage_, from_.info.machine.processors)));
  }
  void add_lines() {
    for (const std::string& line : lines_.take()) file_->add(WandbRecord::output_raw, line);
  }
  void keep(const Status& written) {
    if (!written.ok() && trouble_.empty()) trouble_ = written.error().text();
  }
  // Once, and without the mutex: a line of the log must not wait for the file.
  void tell_trouble() {
    std::string trouble;
    {
      std::lock_guard lock(mutex_);
      if (!told_ && !trouble_.empty()) trouble = trouble_, told_ = true;
    }
    if (!trouble.empty()) log_warning("{} is not complete: {}", folder_, trouble);
  }

  ReportSources from_;
  std::string folder_;
  std::mutex mutex_;  // of what follows
  std::optional<WandbFile> file_;
  int64_t entries_ = 0;
  std::optional<Usage> first_usage_;
  std::string trouble_;
  bool told_ = false;
  LineBox lines_;                 // WandbRecord::output_raw
  std::optional<Ticker> ticker_;  // last: uses the others
};

}  // namespace

ReporterForm reporter_wandb() {
  return {"wandb",
          [] {
            return !environment("WANDB_API_KEY").empty() || !environment("WANDB_PROJECT").empty() ||
                   !environment("WANDB_MODE").empty();
          },
          [](const ReportSources& s) { return std::make_unique<WandbReporter>(s); }};
}

}  // namespace hone
