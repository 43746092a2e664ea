#include "run/commands/pipeline_schedule.h"

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/store/store.h"
#include "operate/pipeline/cron.h"
#include "run/commands/command.h"

namespace hone {
namespace {

// False: a signal came.
bool wait_until(double wall_seconds) {
  while (!stop_requested() && system_clock().wall_seconds() < wall_seconds)
    system_clock().sleep(std::min(0.2, wall_seconds - system_clock().wall_seconds()));
  return !stop_requested();
}

// The fingerprint of data that differ from `seen` and have come to rest; "" when a signal came.
Result<std::string> wait_for_data(const PipelineSchedule& o, const std::string& seen, bool first) {
  std::string before;
  for (;;) {
    const auto now = fingerprint_of(file_store(), o.on);
    if (!now.ok() && first) return now.error();
    first = false;
    if (!now.ok()) log_warning("{}", now.error().text());
    if (now.ok() && *now != "nothing" && *now != seen && *now == before) return *now;
    before = now.ok() ? *now : "";
    if (!wait_until(system_clock().wall_seconds() + o.every_s)) return std::string();
  }
}

}  // namespace

Result<int> follow_schedule(const PipelineSchedule& o, const std::function<Result<int>()>& run) {
  install_stop_handlers();
  std::optional<CronTimes> times;
  if (!o.cron.empty()) times = HONE_TRY(CronTimes::parse(o.cron));
  std::string seen;
  if (!o.on.empty() && HONE_TRY(file_store().exists(o.seen_file)))
    seen = HONE_TRY(file_store().read(o.seen_file));
  for (int64_t runs = 0; o.max_runs == 0 || runs < o.max_runs; ++runs) {
    if (times) {
      const double next = times->next(system_clock().wall_seconds());
      if (next == 0) {
        log_info("{:<11} '{}' names no time of the next eight years", "schedule", o.cron);
        return kExitDone;
      }
      log_info("{:<11} the next run is at {}", "schedule", format_utc(next));
      if (!wait_until(next)) return 128 + stop_signal();
    } else {
      log_info("{:<11} waits for {} at {}", "schedule", seen.empty() ? "data" : "other data", o.on);
      const std::string found = HONE_TRY(wait_for_data(o, seen, runs == 0));
      if (found.empty()) return 128 + stop_signal();
      seen = found;
    }
    const auto status = run();
    if (!status.ok()) log_error("{}", status.error().text());
    if (stop_requested()) return 128 + stop_signal();
    if (!o.on.empty() && status.ok()) {
      const size_t slash = o.seen_file.rfind('/');
      HONE_TRY(file_store().make_dirs(o.seen_file.substr(0, slash)));
      HONE_TRY(file_store().write(o.seen_file, seen));
    }
  }
  return kExitDone;
}

}  // namespace hone
