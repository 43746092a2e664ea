#include "learn/tasks/rerank_evaluation.h"

#include <algorithm>
#include <map>

#include "learn/metrics/retrieval.h"

namespace hone {
namespace {

bool is_binary(const RerankPairs& pairs) {
  return std::all_of(pairs.labels.begin(), pairs.labels.end(),
                     [](float y) { return y == 0 || y == 1; });
}

OrderedJson score_values(const RerankPairs& pairs, std::span<const float> scores) {
  OrderedJson out;
  const bool binary = is_binary(pairs);
  std::vector<uint8_t> answers;
  for (const float y : pairs.labels) answers.push_back(binary && y == 1);
  if (binary) {
    out["average_precision"] = average_precision(scores.first(answers.size()), answers);
    std::map<size_t, std::pair<std::vector<float>, std::vector<uint8_t>>> samples;
    for (size_t i = 0; i < answers.size(); ++i) {
      auto& [own_scores, own_answers] = samples[pairs.sample_of[i]];
      own_scores.push_back(scores[i]);
      own_answers.push_back(answers[i]);
    }
    RerankingMetrics ranking;
    for (const auto& [number, sample] : samples) ranking.add(sample.first, sample.second);
    if (ranking.queries() > 0)
      for (const MetricValue& v : ranking.values()) out[v.name] = v.value;
  } else {
    for (const MetricValue& v : correlations(scores.first(pairs.labels.size()), pairs.labels))
      out[v.name] = v.value;
  }
  out["samples"] = pairs.rows;
  return out;
}

// The class of pair i: that of its largest logit.
float class_of_pair(std::span<const float> logits, int64_t labels, size_t i) {
  const auto own = logits.subspan(i * static_cast<size_t>(labels), static_cast<size_t>(labels));
  return static_cast<float>(std::max_element(own.begin(), own.end()) - own.begin());
}

// The share of pairs whose class is their label.
OrderedJson class_values(const RerankPairs& pairs, std::span<const float> logits, int64_t labels) {
  int64_t right = 0;
  for (size_t i = 0; i < pairs.labels.size(); ++i)
    right += class_of_pair(logits, labels, i) == pairs.labels[i];
  return {{"accuracy", static_cast<double>(right) /
                           static_cast<double>(std::max<size_t>(pairs.labels.size(), 1))},
          {"samples", pairs.rows}};
}

// A row for each pair.
void add_rerank_examples(const RerankPairs& pairs, std::span<const float> logits, int64_t labels,
                         ExampleScores& to) {
  for (size_t i = 0; i < pairs.labels.size(); ++i) {
    const float wanted = pairs.labels[i],
                predicted = labels > 1 ? class_of_pair(logits, labels, i) : logits[i];
    OrderedJson scores = {{"predicted", predicted}, {"wanted", wanted}};
    if (labels > 1) scores = {{"accuracy", predicted == wanted ? 1 : 0}};
    to.add(static_cast<int64_t>(i),
           {{"prediction", predicted}, {"reference", wanted}, {"scores", scores}});
  }
}

}  // namespace

OrderedJson evaluate_pairs(const RerankPairs& pairs, std::span<const float> logits, int64_t labels,
                           ExampleScores* examples) {
  if (examples != nullptr) add_rerank_examples(pairs, logits, labels, *examples);
  return labels == 1 ? score_values(pairs, logits) : class_values(pairs, logits, labels);
}

std::vector<std::string> metrics_of_pairs(const RerankSettings& s, const RerankPairs& pairs) {
  if (s.loss == "CrossEntropyLoss") return {"accuracy"};
  std::vector<std::string> names{"pearson", "spearman"};
  if (is_binary(pairs)) names.insert(names.begin(), "average_precision");
  return names;
}

Result<std::string> metric_of_rerank_rows(const RerankSettings& s) {
  constexpr int64_t kLooked = 1000;
  const TableOfTexts table = HONE_TRY(first_evaluated_rows(text_table_flags(s), kLooked));
  return metrics_of_pairs(s, HONE_TRY(pairs_of(table, true))).front();
}

}  // namespace hone
