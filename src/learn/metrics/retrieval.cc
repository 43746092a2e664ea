#include "learn/metrics/retrieval.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone {
namespace {

double discount(int64_t rank) { return 1 / std::log2(static_cast<double>(rank) + 2); }

// Places of the scores, the highest first; equal ones in their order.
std::vector<size_t> by_score(std::span<const float> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return order;
}

// Calls `take(begin, end, answers)` for each run of equal scores.
template <class Take>
void for_ties(std::span<const float> scores, std::span<const uint8_t> answers, Take take) {
  const std::vector<size_t> order = by_score(scores);
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    int64_t right = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      right += answers[order[end]] ? 1 : 0;
    take(static_cast<int64_t>(begin), static_cast<int64_t>(end), right);
    begin = end;
  }
}

}  // namespace

void RetrievalMetrics::add(std::span<const uint8_t> hits, int64_t answers) {
  ++queries_;
  const auto count = static_cast<int64_t>(hits.size());
  for (size_t c = 0; c < std::size(kCuts); ++c) {
    int64_t right = 0;
    for (int64_t i = 0; i < std::min(kCuts[c], count); ++i)
      right += hits[static_cast<size_t>(i)] ? 1 : 0;
    accuracy_[c] += right > 0 ? 1 : 0;
    precision_[c] += static_cast<double>(right) / static_cast<double>(kCuts[c]);
    recall_[c] += static_cast<double>(right) / static_cast<double>(answers);
  }
  double dcg = 0, best = 0, precisions = 0;
  int64_t right = 0;
  for (int64_t i = 0; i < std::min(kMostHits, count); ++i) {
    if (!hits[static_cast<size_t>(i)]) continue;
    ++right;
    if (i < 10) dcg += discount(i);
    if (right == 1 && i < 10) mrr_ += 1 / static_cast<double>(i + 1);
    precisions += static_cast<double>(right) / static_cast<double>(i + 1);
  }
  for (int64_t i = 0; i < std::min<int64_t>(answers, 10); ++i) best += discount(i);
  ndcg_ += dcg / best;
  map_ += precisions / static_cast<double>(std::min(kMostHits, answers));
}

MetricValues RetrievalMetrics::values() const {
  MetricValues out;
  const auto queries = static_cast<double>(queries_);
  for (const auto& [name, sums] :
       {std::pair("accuracy", accuracy_), {"precision", precision_}, {"recall", recall_}})
    for (size_t c = 0; c < std::size(kCuts); ++c)
      out.push_back({fmt::format("{}@{}", name, kCuts[c]), sums[c] / queries});
  out.push_back({"ndcg@10", ndcg_ / queries});
  out.push_back({"mrr@10", mrr_ / queries});
  out.push_back({"map@100", map_ / queries});
  return out;
}

double average_precision(std::span<const float> scores, std::span<const uint8_t> answers) {
  int64_t all = 0, right = 0;
  for (const uint8_t a : answers) all += a ? 1 : 0;
  double sum = 0;
  for_ties(scores, answers, [&](int64_t, int64_t end, int64_t hits) {
    right += hits;
    sum += static_cast<double>(hits) * static_cast<double>(right) / static_cast<double>(end);
  });
  return sum / static_cast<double>(all);
}

void RerankingMetrics::add(std::span<const float> scores, std::span<const uint8_t> answers) {
  const auto all = std::count_if(answers.begin(), answers.end(), [](uint8_t a) { return a != 0; });
  if (all == 0 || all == std::ssize(answers)) return;
  ++queries_;
  map_ += average_precision(scores, answers);
  const std::vector<size_t> order = by_score(scores);
  for (int64_t i = 0; i < std::min<int64_t>(kCut, std::ssize(order)); ++i)
    if (answers[order[static_cast<size_t>(i)]]) {
      mrr_ += 1 / static_cast<double>(i + 1);
      break;
    }
  double dcg = 0, best = 0;
  for_ties(scores, answers, [&](int64_t begin, int64_t end, int64_t hits) {
    double discounts = 0;
    for (int64_t i = begin; i < std::min(end, kCut); ++i) discounts += discount(i);
    dcg += discounts * static_cast<double>(hits) / static_cast<double>(end - begin);
  });
  for (int64_t i = 0; i < std::min<int64_t>(all, kCut); ++i) best += discount(i);
  ndcg_ += dcg / best;
}

MetricValues RerankingMetrics::values() const {
  const auto queries = static_cast<double>(queries_);
  return {{"map", map_ / queries}, {"mrr@10", mrr_ / queries}, {"ndcg@10", ndcg_ / queries}};
}

MetricValues correlations(std::span<const float> scores, std::span<const float> wanted) {
  MetricValues out;
  for (const auto& [metric, name] : {std::pair("pearson", "pearson"), {"spearmanr", "spearman"}}) {
    const auto m = make_metric(metric);
    HONE_BUG_IF(!m.ok(), "{}", m.error().text());
    for (size_t i = 0; i < wanted.size(); ++i)
      (*m)->add_number(static_cast<double>(scores[i]), static_cast<double>(wanted[i]));
    const auto values = (*m)->values();
    HONE_BUG_IF(!values.ok(), "{}", values.error().text());
    out.push_back({name, (*values)[0].value});
  }
  return out;
}

}  // namespace hone
