// Numbers of batches, steps and epochs of a run, and the rows of each optimizer step: the formulas
// of Transformers 5.23 (Trainer.set_initial_training_values, _run_epoch).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct StepOptions {
  int64_t rows = 0;          // of the training set after all selection
  int64_t batch_rows = 8;    // per_device_train_batch_size times the number of devices
  int64_t accumulation = 1;  // gradient_accumulation_steps
  double epochs = 3;         // num_train_epochs, used when max_steps < 1
  int64_t max_steps = -1;
  bool drop_last = false;  // dataloader_drop_last: only the last short batch, not the last
                           // short window of accumulation, is dropped
};

// A half-open run of places [begin, end) in the order of one epoch.
struct StepRows {
  int64_t epoch = 0, begin = 0, end = 0;
};

class StepCount {
 public:
  // Errors: H2113 without rows (or with fewer than a batch under drop_last).
  static Result<StepCount> make(const StepOptions& options);

  int64_t batches_per_epoch() const { return batches_; }
  int64_t steps_per_epoch() const { return steps_; }
  int64_t total_steps() const { return total_; }
  int64_t epochs() const { return epochs_; }  // started ones; the last one may be unfinished
  int64_t rows_per_step() const { return options_.batch_rows * options_.accumulation; }
  StepRows rows_of_step(int64_t step) const;  // 0-based; the last of an epoch may be shorter
  // `epoch` of the log after `done` optimizer steps: whole epochs plus batches seen of the next.
  double epoch_after(int64_t done) const;

 private:
  StepOptions options_;
  int64_t batches_ = 0, steps_ = 0, total_ = 0, epochs_ = 0;
};

}  // namespace hone
