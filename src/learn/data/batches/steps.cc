#include "learn/data/batches/steps.h"

#include <algorithm>
#include <cmath>

#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"

namespace hone {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Result<StepCount> StepCount::make(const StepOptions& o) {
  HONE_BUG_IF(o.batch_rows < 1 || o.accumulation < 1, "batch {} accumulation {}", o.batch_rows,
              o.accumulation);
  StepCount c;
  c.options_ = o;
  c.batches_ = o.drop_last ? o.rows / o.batch_rows : ceil_div(o.rows, o.batch_rows);
  if (c.batches_ == 0) {
    return Error(err::kNoRows, o.rows == 0 ? std::string("the training set is empty")
                                           : fmt::format("{} do not fill one batch of {}, and "
                                                         "`dataloader_drop_last` drops that",
                                                         count_of(o.rows, "row"), o.batch_rows))
        .todo(o.rows == 0 ? "give more data" : "use a smaller `per_device_train_batch_size`");
  }
  c.steps_ = std::max<int64_t>(1, ceil_div(c.batches_, o.accumulation));
  if (o.max_steps > 0) {
    c.total_ = o.max_steps;
    c.epochs_ = ceil_div(o.max_steps, c.steps_);
  } else {
    c.total_ = static_cast<int64_t>(std::ceil(o.epochs * static_cast<double>(c.steps_)));
    c.epochs_ = static_cast<int64_t>(std::ceil(o.epochs));
  }
  return c;
}

StepRows StepCount::rows_of_step(int64_t step) const {
  const int64_t usable = options_.drop_last ? batches_ * options_.batch_rows : options_.rows;
  StepRows r;
  r.epoch = step / steps_;
  r.begin = step % steps_ * rows_per_step();
  r.end = std::min(r.begin + rows_per_step(), usable);
  return r;
}

double StepCount::epoch_after(int64_t done) const {
  if (done == 0) return 0;
  const int64_t last = done - 1;
  const int64_t batches = std::min((last % steps_ + 1) * options_.accumulation, batches_);
  return static_cast<double>(last / steps_) +
         static_cast<double>(batches) / static_cast<double>(batches_);
}

}  // namespace hone
