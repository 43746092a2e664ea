// Metrics of a running process: counters, gauges and histograms in one set, which Prometheus scrapes and reporters
// send.
//   Metrics metrics;
//   LiveMetric& steps = metrics.counter("hone_train_steps_total", "Optimizer steps that are done.");
//   steps.add(1);                                    // from any thread; allocates nothing
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hone {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// The number of a gauge or a counter. Any thread may use it.
class LiveMetric {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double more) { value_.fetch_add(more, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Counts values by range. Any thread may use it.
class MetricHistogram {
 public:
  explicit MetricHistogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void observe(double value);
  struct Reading {
    std::vector<double> bounds;  // upper limits of the ranges, inclusive, ascending
    // The number of values in each range, not cumulative. It has one more element than `bounds`, because the last range
    // has no upper limit.
    std::vector<uint64_t> counts;
    double sum = 0;
    uint64_t count = 0;
  };
  Reading read() const;

 private:
  mutable std::mutex mutex_;
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

class Metrics {
 public:
  enum class Kind : uint8_t { gauge, counter, histogram };

  // Each of the next three functions returns the metric with this name and these labels, and creates it if it is new.
  // The metric lives as long as this object. All metrics with one name must be of the same kind. `help` is a sentence
  // for people. `bounds` are the upper limits of the ranges, ascending; a histogram that exists keeps its old bounds.
  // By Prometheus' rules, a name ends with the unit: ..._seconds, ..._bytes, ..._ratio, ..._total.
  //   https://prometheus.io/docs/practices/naming/
  LiveMetric& gauge(const std::string& name, const std::string& help,
                    const MetricLabels& labels = {});
  LiveMetric& counter(const std::string& name, const std::string& help,
                      const MetricLabels& labels = {});
  MetricHistogram& histogram(const std::string& name, const std::string& help,
                             std::vector<double> bounds, const MetricLabels& labels = {});

  struct Reading {
    std::string name, help;
    Kind kind = Kind::gauge;
    // One of the two lists is used: `values` for gauges and counters, `histograms` for histograms.
    std::vector<std::pair<MetricLabels, double>> values;
    std::vector<std::pair<MetricLabels, MetricHistogram::Reading>> histograms;
  };
  std::vector<Reading> read() const;  // in the order of creation

 private:
  struct Family {
    std::string name, help;
    Kind kind;
    std::deque<std::pair<MetricLabels, LiveMetric>> values;           // of a gauge or counter
    std::deque<std::pair<MetricLabels, MetricHistogram>> histograms;  // of a histogram
  };
  Family& family(const std::string& name, const std::string& help, Kind kind);
  LiveMetric& metric(const std::string& name, const std::string& help, Kind kind,
                     const MetricLabels& labels);

  mutable std::mutex mutex_;
  std::deque<Family> families_;
};

// The whole set in Prometheus' text format, version 0.0.4.
//   https://prometheus.io/docs/instrumenting/exposition_formats/
std::string prometheus_text(const Metrics& metrics);
// The Content-Type of prometheus_text().
inline constexpr const char* kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace hone
