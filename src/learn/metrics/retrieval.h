// Metrics of ranked texts, with the numbers of sentence-transformers' evaluators.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/metrics/metric.h"

namespace hone {

// InformationRetrievalEvaluator with its default cut-offs: queries against one corpus.
class RetrievalMetrics {
 public:
  static constexpr int64_t kMostHits = 100;  // of a query that count
  // The hits of a query, best first: whether each answers it. `answers`: texts that do, at least one.
  void add(std::span<const uint8_t> hits, int64_t answers);
  int64_t queries() const { return queries_; }
  // accuracy@1, @3, @5, @10; precision@ and recall@ of these; ndcg@10, mrr@10, map@100. NaN without a query.
  MetricValues values() const;

 private:
  static constexpr int64_t kCuts[] = {1, 3, 5, 10};
  int64_t queries_ = 0;
  double accuracy_[4] = {}, precision_[4] = {}, recall_[4] = {};
  double ndcg_ = 0, mrr_ = 0, map_ = 0;
};

// RerankingEvaluator: each query has texts of its own. Average precision and nDCG are scikit-learn's: texts with equal
// scores share their places.
class RerankingMetrics {
 public:
  static constexpr int64_t kCut = 10;
  // The scores of a query's texts, and whether each answers it. A query without texts of both kinds does not count.
  void add(std::span<const float> scores, std::span<const uint8_t> answers);
  int64_t queries() const { return queries_; }
  MetricValues values() const;  // map, mrr@10, ndcg@10; NaN without a query

 private:
  int64_t queries_ = 0;
  double map_ = 0, mrr_ = 0, ndcg_ = 0;
};

// pearson and spearman of scores and the numbers that they should follow, as EmbeddingSimilarityEvaluator. NaN if all
// scores, or all wanted numbers, are equal.
MetricValues correlations(std::span<const float> scores, std::span<const float> wanted);

// sklearn.metrics.average_precision_score of labels 0 and 1; NaN without a label 1.
double average_precision(std::span<const float> scores, std::span<const uint8_t> answers);

}  // namespace hone
