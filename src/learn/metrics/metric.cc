#include "learn/metrics/metric.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/metrics/errors.h"

namespace hone {

void Metric::add_label(int64_t, int64_t) { HONE_BUG_IF(true, "a metric that takes no labels"); }
void Metric::add_number(double, double) { HONE_BUG_IF(true, "a metric that takes no numbers"); }
void Metric::add_text(std::string_view, std::span<const std::string_view>) {
  HONE_BUG_IF(true, "a metric that takes no text");
}

std::string metric_names() {
  const std::vector<MetricType> all = all_metric();
  std::vector<std::string> kinds;
  for (const auto& [input, kind] : {std::pair(MetricInput::kLabel, "labels"),
                                    {MetricInput::kNumber, "numbers"},
                                    {MetricInput::kText, "text"},
                                    {MetricInput::kTags, "labels of words"}}) {
    std::vector<std::string> names;
    for (const MetricType& m : all)
      if (m.input == input) names.push_back(m.name);
    if (!names.empty()) kinds.push_back(fmt::format("{} ({})", join(names, ", "), kind));
  }
  return join(kinds, ", ");
}

Result<MetricType> find_metric(const std::string& name) {
  std::vector<std::string> names, all;
  for (MetricType& m : all_metric()) {
    if (m.name == name || std::find(m.aliases.begin(), m.aliases.end(), name) != m.aliases.end())
      return m;
    names.push_back(m.name);
    all.push_back(m.name);
    all.insert(all.end(), m.aliases.begin(), m.aliases.end());
  }
  const std::string near = nearest_name(name, all);
  return Error(err::kMetricName, fmt::format("there is no metric '{}'", name))
      .todo(fmt::format("{}there are: {}",
                        near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                        join(names, ", ")));
}

Result<std::unique_ptr<Metric>> make_metric(const std::string& name, const MetricOptions& options) {
  return HONE_TRY(find_metric(name)).make(options);
}

std::vector<std::string> text_metric_values(const std::string& name) {
  const auto metric = make_metric(name);
  HONE_BUG_IF(!metric.ok(), "{}", metric.error().text());
  constexpr std::string_view kReferences[] = {"O"};
  (*metric)->add_text("O", kReferences);
  const auto values = (*metric)->values();
  HONE_BUG_IF(!values.ok(), "{}", values.error().text());
  std::vector<std::string> names;
  for (const MetricValue& v : *values) names.push_back(v.name);
  return names;
}

namespace {

struct GlueMetrics {
  const char* task;
  std::vector<std::string> metrics;
};

const std::vector<GlueMetrics>& glue_table() {
  static const std::vector<GlueMetrics> table = {{"cola", {"matthews_correlation"}},
                                                 {"mnli", {"accuracy"}},
                                                 {"mnli_matched", {"accuracy"}},
                                                 {"mnli_mismatched", {"accuracy"}},
                                                 {"mrpc", {"accuracy", "f1"}},
                                                 {"qnli", {"accuracy"}},
                                                 {"qqp", {"accuracy", "f1"}},
                                                 {"rte", {"accuracy"}},
                                                 {"sst2", {"accuracy"}},
                                                 {"stsb", {"pearson", "spearmanr"}},
                                                 {"wnli", {"accuracy"}},
                                                 {"hans", {"accuracy"}}};
  return table;
}

}  // namespace

std::vector<std::string> glue_metrics(const std::string& task) {
  for (const GlueMetrics& g : glue_table())
    if (g.task == task) return g.metrics;
  return {};
}

std::vector<std::string> glue_metric_choices() {
  std::vector<std::string> names = {""};
  for (const GlueMetrics& g : glue_table()) names.emplace_back(g.task);
  return names;
}

}  // namespace hone
