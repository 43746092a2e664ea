// Numbers of batches, steps and epochs of a run, and the rows of each optimizer step: the formulas
// of Transformers 5.23 (Trainer.set_initial_training_values, _run_epoch).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

struct StepOptions {
  int64_t rows = 0;          // rows of the training set after all selection
  int64_t batch_rows = 8;    // per_device_train_batch_size times the number of devices
  int64_t accumulation = 1;  // gradient_accumulation_steps
  double epochs = 3;         // num_train_epochs, used when max_steps < 1
  int64_t max_steps = -1;    // < 1: epochs decide
  // dataloader_drop_last. true: the last batch of an epoch is dropped if it has fewer than batch_rows rows. A last step
  // with fewer than `accumulation` batches is kept.
  bool drop_last = false;
};

// Positions [begin, end) in the row order of one epoch (RowOrder); epochs count from 0.
struct StepRows {
  int64_t epoch = 0, begin = 0, end = 0;
};

class StepCount {
 public:
  // Errors: H2113 there are no rows, or with drop_last fewer rows than one batch.
  static Result<StepCount> make(const StepOptions& options);

  int64_t batches_per_epoch() const { return batches_; }
  int64_t steps_per_epoch() const { return steps_; }
  int64_t total_steps() const { return total_; }
  // Epochs that the run starts; the last one may be incomplete.
  int64_t epochs() const { return epochs_; }
  int64_t rows_per_step() const { return options_.batch_rows * options_.accumulation; }
  // The rows of optimizer step `step`, from 0. The last step of an epoch may have fewer rows than rows_per_step().
  StepRows rows_of_step(int64_t step) const;
  // The value `epoch` in the log after `done` optimizer steps: the number of finished epochs plus the finished fraction
  // of the current epoch's batches.
  double epoch_after(int64_t done) const;

 private:
  StepOptions options_;
  int64_t batches_ = 0, steps_ = 0, total_ = 0, epochs_ = 0;
};

}  // namespace hone
