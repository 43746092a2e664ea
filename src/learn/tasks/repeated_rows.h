// Repeated augmentation, as timm's RepeatAugSampler (Berman et al. 2019, arXiv 1902.05509). An epoch has as many
// samples as there are rows. But it uses only a part of the rows, and repeats each of these rows with different random
// changes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "learn/data/rows/order.h"

namespace hone {

// Maps the places of an epoch to rows. A place is the index of a sample in its epoch: 0, 1, 2, ... The samples of all
// ranks are counted together, so the number of ranks does not change a step.
class RepeatedRows {
 public:
  // `rows`: number of rows. `repeats`: number of times that an epoch uses a row, at successive places; 1: place i is
  // row i. `order`: the order in which an epoch takes the rows; used only if `repeats` is above 1.
  RepeatedRows(int64_t rows, int64_t repeats, const RowOrder& order)
      : rows_(rows), repeats_(repeats), order_(order) {}

  bool repeats() const { return repeats_ > 1; }
  // The number of places of an epoch: the number of rows. If repeats() is true and there are at least 256 rows, the
  // number is rounded down to a multiple of 256.
  int64_t places() const { return repeats() && rows_ >= kLot ? rows_ / kLot * kLot : rows_; }
  // The row at a place of an epoch.
  int64_t row(int64_t epoch, int64_t place) const {
    return repeats() ? order_.index(epoch, place / repeats_) : place;
  }

 private:
  static constexpr int64_t kLot = 256;
  int64_t rows_, repeats_;
  RowOrder order_;
};

}  // namespace hone
