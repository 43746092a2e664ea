// Base class of metrics of a whole corpus, such as BLEU: each example gives N counts, and the metric is a function of
// the sums of these counts.
#pragma once

#include <array>
#include <vector>

#include "learn/metrics/metric.h"

namespace hone {

// Memory: with keep_examples 4 * N bytes for each example.
template <size_t N>
class CountedMetric : public Metric {
 public:
  using Counts = std::array<int64_t, N>;
  explicit CountedMetric(const MetricOptions& o) : keep_(o.keep_examples) {}

  void add_text(std::string_view prediction, std::span<const std::string_view> references) final {
    const auto n = static_cast<int64_t>(references.size());
    if (examples_ == 0) references_ = n;
    if (references_ != n) references_ = -1;
    const Counts counts = count(prediction, references);
    for (size_t k = 0; k < N; ++k) sums_[k] += counts[k];
    ++examples_;
    if (!keep_) return;
    auto& row = kept_.emplace_back();
    for (size_t k = 0; k < N; ++k) row[k] = static_cast<int32_t>(counts[k]);
  }
  int64_t examples() const final { return examples_; }
  Result<MetricValues> values() const final { return values_of(sums_); }
  Result<MetricValues> values_of(std::span<const int32_t> times) const final {
    Counts sums{};
    for (size_t i = 0; i < times.size(); ++i) {
      if (times[i] == 0) continue;
      for (size_t k = 0; k < N; ++k) sums[k] += int64_t{kept_[i][k]} * times[i];
    }
    return values_of(sums);
  }

 protected:
  const Counts& sums() const { return sums_; }
  // The start of sacreBLEU's signature: "nrefs:1", the number of references; "nrefs:var": examples have different
  // numbers.
  std::string references_signature() const {
    return references_ < 0 ? "nrefs:var" : fmt::format("nrefs:{}", references_);
  }

 private:
  // The counts of one example.
  virtual Counts count(std::string_view prediction,
                       std::span<const std::string_view> references) = 0;
  virtual MetricValues values_of(const Counts& sums) const = 0;

  bool keep_;
  Counts sums_{};
  int64_t examples_ = 0, references_ = 0;
  std::vector<std::array<int32_t, N>> kept_;
};

// BLEU and chrF have the values of this release of sacreBLEU, and their signatures name it.
inline constexpr const char* kSacrebleuVersion = "2.6.0";

}  // namespace hone
