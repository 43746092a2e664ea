#include "operate/telemetry/metrics.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

void MetricHistogram::observe(double value) {
  std::lock_guard lock(mutex_);
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  ++counts_[static_cast<size_t>(at - bounds_.begin())];
  sum_ += value;
}

MetricHistogram::Reading MetricHistogram::read() const {
  std::lock_guard lock(mutex_);
  Reading r{bounds_, counts_, sum_, 0};
  for (const uint64_t n : counts_) r.count += n;
  return r;
}

Metrics::Family& Metrics::family(const std::string& name, const std::string& help, Kind kind) {
  for (Family& f : families_)
    if (f.name == name) {
      HONE_BUG_IF(f.kind != kind, "metric {} is of two kinds", name);
      return f;
    }
  Family& f = families_.emplace_back();
  f.name = name;
  f.help = help;
  f.kind = kind;
  return f;
}

LiveMetric& Metrics::metric(const std::string& name, const std::string& help, Kind kind,
                            const MetricLabels& labels) {
  std::lock_guard lock(mutex_);
  Family& f = family(name, help, kind);
  for (auto& [marks, value] : f.values)
    if (marks == labels) return value;
  auto& added = f.values.emplace_back();
  added.first = labels;
  return added.second;
}

LiveMetric& Metrics::gauge(const std::string& name, const std::string& help,
                           const MetricLabels& labels) {
  return metric(name, help, Kind::gauge, labels);
}
LiveMetric& Metrics::counter(const std::string& name, const std::string& help,
                             const MetricLabels& labels) {
  return metric(name, help, Kind::counter, labels);
}

MetricHistogram& Metrics::histogram(const std::string& name, const std::string& help,
                                    std::vector<double> bounds, const MetricLabels& labels) {
  std::lock_guard lock(mutex_);
  Family& f = family(name, help, Kind::histogram);
  for (auto& [marks, histogram] : f.histograms)
    if (marks == labels) return histogram;
  return f.histograms
      .emplace_back(std::piecewise_construct, std::forward_as_tuple(labels),
                    std::forward_as_tuple(std::move(bounds)))
      .second;
}

std::vector<Metrics::Reading> Metrics::read() const {
  std::lock_guard lock(mutex_);
  std::vector<Reading> all;
  for (const Family& f : families_) {
    Reading r{f.name, f.help, f.kind, {}, {}};
    for (const auto& [labels, value] : f.values) r.values.emplace_back(labels, value.value());
    for (const auto& [labels, h] : f.histograms) r.histograms.emplace_back(labels, h.read());
    all.push_back(std::move(r));
  }
  return all;
}

namespace {

std::string prometheus_number(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "+Inf" : "-Inf";
  return double_text(x);
}

std::string escaped(std::string_view text, bool in_label) {
  std::string s;
  for (const char c : text) {
    if (c == '\\')
      s += "\\\\";
    else if (c == '\n')
      s += "\\n";
    else if (c == '"' && in_label)
      s += "\\\"";
    else
      s += c;
  }
  return s;
}

std::string labels_text(const MetricLabels& labels) {
  std::string s;
  for (const auto& [name, value] : labels)
    s += fmt::format("{}{}=\"{}\"", s.empty() ? "" : ",", name, escaped(value, true));
  return s.empty() ? s : "{" + s + "}";
}

}  // namespace

std::string prometheus_text(const Metrics& metrics) {
  std::string text;
  for (const Metrics::Reading& m : metrics.read()) {
    static constexpr const char* kTypes[] = {"gauge", "counter", "histogram"};
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", m.name, escaped(m.help, false), m.name,
                        kTypes[static_cast<size_t>(m.kind)]);
    for (const auto& [labels, value] : m.values)
      text += fmt::format("{}{} {}\n", m.name, labels_text(labels), prometheus_number(value));
    for (const auto& [labels, h] : m.histograms) {
      const std::string marks = labels_text(labels);
      MetricLabels with_bound = labels;
      with_bound.emplace_back("le", "");
      uint64_t below = 0;
      for (size_t i = 0; i < h.counts.size(); ++i) {
        below += h.counts[i];
        with_bound.back().second = i < h.bounds.size() ? prometheus_number(h.bounds[i]) : "+Inf";
        text += fmt::format("{}_bucket{} {}\n", m.name, labels_text(with_bound), below);
      }
      text += fmt::format("{}_sum{} {}\n{}_count{} {}\n", m.name, marks, prometheus_number(h.sum),
                          m.name, marks, h.count);
    }
  }
  return text;
}

}  // namespace hone
