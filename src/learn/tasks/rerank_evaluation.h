// Evaluations of rerankers, with the numbers of sentence-transformers' evaluators for
// cross-encoders: which one depends on the scores of a pair and on the labels of the rows.
//
//   one score, labels 0 and 1  CERerankingEvaluator: average_precision, map, mrr@10, ndcg@10
//   one score, other labels    CECorrelationEvaluator: pearson, spearman
//   a score for each class     accuracy
#pragma once

#include "learn/harness/example_scores.h"
#include "learn/tasks/rerank_data.h"

namespace hone {

// `logits`: `labels` of each pair. `examples`: receives the score of each pair; null: not needed.
OrderedJson evaluate_pairs(const RerankPairs& pairs, std::span<const float> logits, int64_t labels,
                           ExampleScores* examples);
// The metrics that evaluated pairs give, the one that compares models first.
std::vector<std::string> metrics_of_pairs(const RerankSettings& s, const RerankPairs& pairs);
// The metric that compares models of the rows of the settings, by the labels of the first evaluated
// rows. Errors: those of first_evaluated_rows and pairs_of.
Result<std::string> metric_of_rerank_rows(const RerankSettings& s);

}  // namespace hone
