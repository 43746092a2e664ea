#include "learn/harness/budget/stop_notice.h"

#include <algorithm>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/store.h"

namespace hone {

StopTime stop_time(const StepTimes& times, double save_seconds, bool in_background) {
  StopTime t;
  t.save_seconds = save_seconds;
  if (!times.first.empty()) {
    t.whole_step = times.update == 0;
    t.finish_seconds = std::max(times.first.back(), times.more.back()) + times.update;
  }
  // At worst the signal comes just after the previous checkpoint was started: it is written while
  // the micro-batch is finished.
  if (in_background) t.wait_seconds = std::max(0.0, save_seconds - t.finish_seconds);
  return t;
}

void report_stop_time(const TrainSettings& s, const StopTime& t) {
  if (s.stop_notice <= 0) return;
  std::string parts;
  if (t.finish_seconds > 0)
    parts += fmt::format("{:.3g} s to finish a {}, ", t.finish_seconds,
                         t.whole_step ? "step" : "micro-batch");
  if (t.wait_seconds > 0)
    parts += fmt::format("{:.3g} s for the checkpoint before, ", t.wait_seconds);
  parts += fmt::format("{:.3g} s to save {}", t.save_seconds, format_bytes(t.checkpoint_bytes));
  if (t.finish_seconds == 0) parts += "; the time of a step is not known";
  if (t.seconds() <= s.stop_notice) {
    log_info("{:<11} takes {:.3g} s of the {:g} s of --stop_notice: {}", "stop", t.seconds(),
             s.stop_notice, parts);
    return;
  }
  const std::string advice =
      t.finish_seconds > t.save_seconds
          ? fmt::format(
                "a smaller --per_device_train_batch_size with more "
                "--gradient_accumulation_steps (now {} and {})",
                s.per_device_train_batch_size, s.gradient_accumulation_steps)
          : "a faster --output_dir, or an optimizer with smaller states (--optim adamw_8bit)";
  log_warning(
      "a stop is predicted to take {:.3g} s, --stop_notice is {:g} s: {}. The steps since the last "
      "checkpoint would be lost. Use {}; or save more often with --save_steps",
      t.seconds(), s.stop_notice, parts, advice);
}

Result<double> measure_save_speed(const std::string& folder) {
  constexpr size_t kBytes = 8 << 20;
  std::string data(kBytes, '\0');
  uint64_t x = 1;  // bytes that no store can compress
  for (size_t i = 0; i + 8 <= kBytes; i += 8) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    std::copy_n(reinterpret_cast<const char*>(&x), 8, data.data() + i);
  }
  Store& store = file_store();
  const std::string probe = folder + "/.hone_probe";
  HONE_TRY(store.make_dirs(folder));
  const double begin = system_clock().seconds();
  HONE_TRY(store.write(probe, data));
  const double seconds = system_clock().seconds() - begin;
  HONE_TRY(store.remove_all(probe));
  return static_cast<double>(kBytes) / std::max(seconds, 1e-6);
}

}  // namespace hone
