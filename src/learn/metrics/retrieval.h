// Metrics of embedding models: retrieval, reranking and similarity. Values are those of sentence-transformers'
// evaluators.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/metrics/metric.h"

namespace hone {

// As InformationRetrievalEvaluator with its default cut-offs: each query is answered from one corpus of texts.
class RetrievalMetrics {
 public:
  static constexpr int64_t kMostHits = 100;  // further hits of a query are not read
  // Adds a query. hits[i]: 1 if the i-th best text that was found is relevant, else 0. `answers`: the number of
  // relevant texts in the corpus, at least 1.
  void add(std::span<const uint8_t> hits, int64_t answers);
  int64_t queries() const { return queries_; }
  // accuracy, precision and recall at 1, 3, 5 and 10 ("accuracy@1", ...), then ndcg@10, mrr@10 and map@100. All are
  // NaN without a query.
  MetricValues values() const;

 private:
  static constexpr int64_t kCuts[] = {1, 3, 5, 10};
  int64_t queries_ = 0;
  double accuracy_[4] = {}, precision_[4] = {}, recall_[4] = {};
  double ndcg_ = 0, mrr_ = 0, map_ = 0;
};

// As RerankingEvaluator: each query has its own texts. Average precision and nDCG are computed as in scikit-learn:
// texts with equal scores share their ranks.
class RerankingMetrics {
 public:
  static constexpr int64_t kCut = 10;
  // Adds a query: the scores of its texts, and for each text 1 if it is relevant, else 0. A query whose texts are all
  // relevant or all irrelevant is skipped.
  void add(std::span<const float> scores, std::span<const uint8_t> answers);
  int64_t queries() const { return queries_; }
  MetricValues values() const;  // map, mrr@10, ndcg@10; NaN without a query

 private:
  int64_t queries_ = 0;
  double map_ = 0, mrr_ = 0, ndcg_ = 0;
};

// As EmbeddingSimilarityEvaluator: the correlations "pearson" and "spearman" between the model's scores and the
// reference scores `wanted`. NaN if all scores or all references are equal.
MetricValues correlations(std::span<const float> scores, std::span<const float> wanted);

// sklearn.metrics.average_precision_score. `answers`: 1 for a relevant text, else 0. NaN if no text is relevant.
double average_precision(std::span<const float> scores, std::span<const uint8_t> answers);

}  // namespace hone
