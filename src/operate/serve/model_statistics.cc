#include "operate/serve/model_statistics.h"

namespace hone {

void ModelStatistics::add(Part part, double seconds) {
  std::lock_guard lock(mutex_);
  now_.parts[part].add(seconds);
}

void ModelStatistics::ended(Part success_or_fail, double seconds, int64_t texts,
                            double wall_seconds) {
  std::lock_guard lock(mutex_);
  now_.parts[success_or_fail].add(seconds);
  now_.texts += texts;
  now_.last_ended = wall_seconds;
}

void ModelStatistics::add(const Execution& e) {
  std::lock_guard lock(mutex_);
  ++now_.executions;
  Batch& b = now_.batches[e.sequences];
  b.input.add(e.input);
  b.infer.add(e.infer);
  b.output.add(e.output);
}

ModelStatistics::Reading ModelStatistics::read() const {
  std::lock_guard lock(mutex_);
  return now_;
}

}  // namespace hone
