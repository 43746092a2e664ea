// The numbers of sentence-transformers' evaluators (tests/goldens/embedding/metrics.json).
#include "learn/metrics/retrieval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/core/json.h"

namespace hone {
namespace {

using Vectors = std::vector<std::vector<float>>;

Json retrieval_golden() {
  return Json::parse(std::ifstream(HONE_SOURCE_DIR "/tests/goldens/embedding/metrics.json"));
}

float cosine(const std::vector<float>& x, const std::vector<float>& y) {
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    xx += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    yy += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  }
  return static_cast<float>(xy / std::sqrt(xx * yy));
}

void expect_values(const MetricValues& found, const Json& wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  for (const MetricValue& v : found)
    EXPECT_NEAR(v.value, wanted.at(v.name).get<double>(), 1e-12) << v.name;
}

TEST(Retrieval, CorrelationsOfOrderAndOfValues) {
  const MetricValues found = correlations(std::vector<float>{1, 2, 4}, std::vector<float>{0, 1, 9});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "pearson");
  EXPECT_NEAR(found[0].value, 0.97322, 1e-5);
  EXPECT_EQ(found[1].name, "spearman");
  EXPECT_NEAR(found[1].value, 1, 1e-12);
  for (const MetricValue& v : correlations(std::vector<float>{1, 1}, std::vector<float>{0, 1}))
    EXPECT_TRUE(std::isnan(v.value)) << v.name;
}

TEST(Retrieval, HasTheNumbersOfTheEvaluator) {
  const Json golden = retrieval_golden();
  const auto vectors = golden["vectors"].get<Vectors>();
  const auto corpus = golden["corpus"].get<std::vector<std::string>>();
  RetrievalMetrics metrics;
  for (const auto& [query, answers] : golden["relevant"].items()) {
    std::vector<std::pair<float, std::string>> hits;
    for (size_t i = 0; i < corpus.size(); ++i)
      hits.emplace_back(-cosine(vectors[std::stoul(query)], vectors[6 + i]), corpus[i]);
    std::sort(hits.begin(), hits.end());
    std::vector<uint8_t> right;
    for (const auto& [score, id] : hits)
      right.push_back(std::find(answers.begin(), answers.end(), id) != answers.end());
    metrics.add(right, std::ssize(answers));
  }
  expect_values(metrics.values(), golden["retrieval"]);
}

TEST(Reranking, HasTheNumbersOfTheEvaluator) {
  const Json golden = retrieval_golden();
  const auto vectors = golden["vectors"].get<Vectors>();
  RerankingMetrics metrics;
  for (const Json& sample : golden["samples"]) {
    std::vector<float> scores;
    std::vector<uint8_t> answers;
    for (const char* kind : {"positive", "negative"})
      for (const Json& text : sample[kind]) {
        scores.push_back(cosine(vectors[std::stoul(sample["query"].get<std::string>())],
                                vectors[std::stoul(text.get<std::string>())]));
        answers.push_back(*kind == 'p');
      }
    metrics.add(scores, answers);
  }
  metrics.add(std::vector<float>{1, 2}, std::vector<uint8_t>{1, 1});  // nothing to tell apart
  EXPECT_EQ(metrics.queries(), std::ssize(golden["samples"]));
  expect_values(metrics.values(), golden["reranking"]);
}

TEST(Reranking, AveragePrecisionSharesPlacesOfEqualScores) {
  const Json golden = retrieval_golden();
  EXPECT_NEAR(average_precision(golden["scores"].get<std::vector<float>>(),
                                golden["answers"].get<std::vector<uint8_t>>()),
              golden["average_precision"].get<double>(), 1e-12);
}

}  // namespace
}  // namespace hone
