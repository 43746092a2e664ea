// Repeated augmentation, as timm's RepeatAugSampler (Berman et al. 2019, arXiv 1902.05509): an epoch has only some of
// the rows, but each of them several times with different random changes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "learn/data/rows/order.h"

namespace hone {

// Maps the places of an epoch to rows. The places are those of all ranks together, so the number of ranks does not
// change a step.
class RepeatedRows {
 public:
  // `rows`: number of rows. `repeats`: how often a row is repeated; 1: place i is row i. `order`: the order of rows.
  RepeatedRows(int64_t rows, int64_t repeats, const RowOrder& order)
      : rows_(rows), repeats_(repeats), order_(order) {}

  bool repeats() const { return repeats_ > 1; }
  // The number of places of an epoch: the number of rows. With repeats, and from 256 rows on, it is rounded down to a
  // multiple of 256.
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
