// A histogram of the values of tensors, with the value ranges of TensorFlow's histogram summaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

class ThreadPool;

// The limits of the ranges are 0 and, on both sides of 0, 1e-12, 1.1e-12, 1.21e-12 and so on up to 1e20, as in
// InitDefaultBucketsInner() in tensorflow/core/lib/histogram/histogram.cc. A range includes its lower limit. Values
// that are not finite are counted separately, and are not in the sums. The sums are bit-identical for any number of
// threads.
class ValueHistogram {
 public:
  ValueHistogram();
  static bool counts(DType t);  // whether add() accepts this type: f32, bf16 or f16
  // Adds the values of a tensor.
  void add(DType dtype, std::span<const std::byte> values, ThreadPool& pool);

  int64_t num() const { return all_.num; }  // number of finite values
  int64_t not_finite() const { return all_.not_finite; }
  // The next four are over the finite values; 0 if there are none.
  double min() const { return all_.num > 0 ? all_.min : 0; }
  double max() const { return all_.num > 0 ? all_.max : 0; }
  double sum() const { return all_.sum; }
  double sum_squares() const { return all_.squares; }

  // The upper limit of each range and the number of its values, by ascending limit. Neighbouring empty ranges are
  // merged into one.
  std::vector<std::pair<double, int64_t>> buckets() const;

 private:
  struct Sums {
    int64_t num = 0, not_finite = 0;
    double min = std::numeric_limits<double>::infinity(), max = -min, sum = 0, squares = 0;
    void add(const Sums& more);
  };
  template <class Read>
  void add_values(int64_t count, ThreadPool& pool, Read read);

  Sums all_;
  std::vector<int64_t> counts_;  // by range
};

}  // namespace hone
