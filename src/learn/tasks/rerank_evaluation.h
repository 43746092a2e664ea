// Evaluates rerankers, with the results of sentence-transformers' evaluators for cross-encoders. The number of scores
// of a pair and the labels decide which evaluator is used:
//
//   one score, labels 0 and 1  CERerankingEvaluator: average_precision, map, mrr@10, ndcg@10
//   one score, other labels    CECorrelationEvaluator: pearson, spearman
//   a score for each class     accuracy
#pragma once

#include "learn/harness/example_scores.h"
#include "learn/tasks/rerank_data.h"

namespace hone {

// The metrics of the pairs by name. `labels`: number of scores of a pair (rerank_labels). `logits`: `labels` numbers
// for each pair. `examples`: receives the prediction, the label and the scores of each pair; null: they are not needed.
OrderedJson evaluate_pairs(const RerankPairs& pairs, std::span<const float> logits, int64_t labels,
                           ExampleScores* examples);
// The names of the metrics by which models can be compared on these pairs. The first name is the default.
std::vector<std::string> metrics_of_pairs(const RerankSettings& s, const RerankPairs& pairs);
// The name of the metric that compares models on the rows that the settings name, found from the labels of the first
// 1,000 rows to evaluate. Errors: those of first_evaluated_rows and pairs_of.
Result<std::string> metric_of_rerank_rows(const RerankSettings& s);

}  // namespace hone
