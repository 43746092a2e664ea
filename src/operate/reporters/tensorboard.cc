// --report_to tensorboard: the log of a run as event files in log_folder(), with the tags of
// Transformers' TensorBoardCallback, and what the machine used.
#include <optional>

#include "learn/train/log_folder.h"
#include "operate/reporters/event_file.h"
#include "operate/reporters/reporter.h"

namespace hone {
namespace {

class TensorBoard : public Reporter {
 public:
  explicit TensorBoard(ReportSources sources) : x_(std::move(sources)) {}

  Status begin() override { return Ok{}; }
  Status on_train_begin(const RunPlace&) override { return open(); }
  Status on_log(const RunPlace& at, const OrderedJson& entry) override {
    if (!file_) HONE_TRY(open());  // an evaluation without training
    for (const auto& [key, value] : entry.items())
      if (value.is_number()) file_->add_scalar(report_name(key), value.get<double>(), at.step);
    if (entry.contains("learning_rate")) add_usage(at.step);
    HONE_TRY(file_->flush());
    tell_failure();
    return Ok{};
  }
  void end(const RunEnd&) override {
    if (!file_) return;
    if (const Status closed = file_->close(); !closed.ok())
      log_warning("{} is not complete: {}", file_->path(), closed.error().text());
  }

 private:
  Status open() {
    file_.emplace(HONE_TRY(EventFile::create(log_folder(x_.settings))));
    log_info("{:<11} {}", "tensorboard", file_->path());
    file_->add_text("args", dump_json(x_.info.settings, {.indent = 2}), 0);
    return file_->flush();
  }
  void tell_failure() {
    if (const std::string why = file_->take_failure(); !why.empty())
      log_warning("{} cannot be written: {}", file_->path(), why);
  }
  void add_usage(int64_t step) {
    const Usage u = x_.usage();
    const auto add = [&](const std::string& name, double value) {
      if (value >= 0) file_->add_scalar("system/" + name, value, step);
    };
    add("cpu_utilization", u.machine_cpu_share);
    add("process_memory_bytes", static_cast<double>(u.process_memory_bytes));
    add("disk_read_rate", u.disk_read_rate);
    add("disk_write_rate", u.disk_write_rate);
    add("network_receive_rate", u.network_receive_rate);
    add("network_send_rate", u.network_send_rate);
    for (const GpuUsage& g : u.gpus) {
      const std::string gpu = fmt::format("gpu_{}_", g.index);
      add(gpu + "utilization", g.busy_share);
      add(gpu + "memory_used_bytes", static_cast<double>(g.memory_used_bytes));
      add(gpu + "power_watts", g.power_watts);
      add(gpu + "temperature_celsius", g.temperature_celsius);
    }
  }

  ReportSources x_;
  std::optional<EventFile> file_;
};

}  // namespace

ReporterForm reporter_tensorboard() {
  return {.name = "tensorboard", .make = [](const ReportSources& sources) {
            return std::make_unique<TensorBoard>(sources);
          }};
}

}  // namespace hone
