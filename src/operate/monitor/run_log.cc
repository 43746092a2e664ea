#include "operate/monitor/run_log.h"

#include <cmath>

#include "base/core/clock.h"
#include "base/core/redact.h"
#include "learn/checkpoint/output_dir.h"

namespace hone {

namespace {
OrderedJson finite(const OrderedJson& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return nullptr;
  if (!value.is_structured()) return value;
  OrderedJson all = value;
  for (OrderedJson& member : all) member = finite(member);
  return all;
}
}  // namespace

Result<std::unique_ptr<RunLog>> RunLog::open(const std::string& output_dir, LogLabels labels) {
  LiveFile file = HONE_TRY(LiveFile::open(output_dir + "/" + kRunLogFile));
  return std::unique_ptr<RunLog>(new RunLog(std::move(file), std::move(labels)));
}

RunLog::RunLog(LiveFile file, LogLabels labels)
    : file_(std::move(file)),
      labels_(std::move(labels)),
      writes_(file_.in_bucket() ? Writes::later : Writes::now) {}

void RunLog::add_line(const LogRecord& line) {
  std::lock_guard lock(mutex_);
  if (writes_ == Writes::none) return;
  file_.add(log_json(line, labels_) + "\n");
  // A full disk ends the run where it would lose something.
  if (writes_ == Writes::now) (void)file_.flush();
}

void RunLog::release() {
  std::lock_guard lock(mutex_);
  if (writes_ == Writes::later) writes_ = Writes::now;
}

void RunLog::drop() {
  std::lock_guard lock(mutex_);
  if (writes_ == Writes::later) writes_ = Writes::none;
}

std::string RunLog::take_failure() {
  std::lock_guard lock(mutex_);
  return file_.take_failure();
}

void RunLog::add_event(const std::string& event, const OrderedJson& members, int64_t step) {
  OrderedJson all{{"event", event}};
  all.update(finite(members));
  const std::string text = dump_json(redact_secrets(std::move(all)));
  add_line({.level = LogLevel::kInfo,
            .wall_seconds = system_clock().wall_seconds(),
            .step = step,
            .message = "",
            .data = std::string_view(text).substr(1, text.size() - 2)});
}

void RunLog::close() {
  std::lock_guard lock(mutex_);
  if (writes_ != Writes::none) (void)file_.close();
}

OrderedJson usage_json(const Usage& u) {
  OrderedJson j{{"machine_cpu_share", u.machine_cpu_share},
                {"process_cores", u.process_cores},
                {"process_memory_bytes", u.process_memory_bytes},
                {"machine_memory_available_bytes", u.machine_memory_available_bytes},
                {"disk_read_rate", u.disk_read_rate},
                {"disk_write_rate", u.disk_write_rate},
                {"network_receive_rate", u.network_receive_rate},
                {"network_send_rate", u.network_send_rate}};
  for (const GpuUsage& g : u.gpus) {
    OrderedJson gpu{{"index", g.index}};
    const auto add = [&](const char* name, double value) {
      if (value >= 0) gpu[name] = value;
    };
    add("busy_share", g.busy_share);
    add("memory_used_bytes", static_cast<double>(g.memory_used_bytes));
    add("power_watts", g.power_watts);
    add("temperature_celsius", g.temperature_celsius);
    j["gpus"].push_back(std::move(gpu));
  }
  return j;
}

}  // namespace hone
