// Repeated augmentation (Berman et al. 2019, arXiv 1902.05509): an epoch has some of the rows, each several times, with other
// random changes each time. timm's RepeatAugSampler.
#pragma once

#include <algorithm>
#include <cstdint>

#include "learn/data/rows/order.h"

namespace hone {

// The row at each place of an epoch. The places are those of all ranks, so no number of ranks changes a step.
class RepeatedRows {
 public:
  // `repeats` 1: places are rows.
  RepeatedRows(int64_t rows, int64_t repeats, const RowOrder& order)
      : rows_(rows), repeats_(repeats), order_(order) {}

  bool repeats() const { return repeats_ > 1; }
  // Places of an epoch: the number of rows, in whole lots of 256 if there are as many.
  int64_t places() const { return repeats() && rows_ >= kLot ? rows_ / kLot * kLot : rows_; }
  int64_t row(int64_t epoch, int64_t place) const {
    return repeats() ? order_.index(epoch, place / repeats_) : place;
  }

 private:
  static constexpr int64_t kLot = 256;
  int64_t rows_, repeats_;
  RowOrder order_;
};

}  // namespace hone
