#include "learn/generate/scores.h"

#include <gtest/gtest.h>

#include <fstream>

namespace hone {
namespace {

using nlohmann::json;

TEST(Scores, ArgmaxTakesTheFirstOfEqualOnes) {
  for (size_t n : {1, 5, 16, 17, 50257}) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>((i * 7919) % 1009) - 2000;
    const size_t at = n * 2 / 3;
    x[at] = 5;
    EXPECT_EQ(argmax(x), static_cast<int32_t>(at));
    x.back() = 5;
    EXPECT_EQ(argmax(x), static_cast<int32_t>(at));
  }
}

TEST(Scores, LogProbabilitiesSumToOne) {
  for (size_t n : {3, 1024, 5000}) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(std::sin(static_cast<double>(i)) * 30);
    double sum = 0, most = 30;
    for (float v : x) sum += std::exp(static_cast<double>(v) - most);
    const double log_sum = most + std::log(sum);
    const LogNorm norm = log_norm(x);
    for (const float v : x) EXPECT_NEAR(norm(v), static_cast<double>(v) - log_sum, 1e-5);
  }
}

// Tokens and scores after the warpers, against Transformers (tools/golden_generate.py).
TEST(Scores, WarpersAsTransformers) {
  const json all = json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/generate/cases.json"));
  ASSERT_GE(all["warp"].size(), 20u);
  for (const json& c : all["warp"]) {
    GenerationConfig config;
    ASSERT_TRUE(apply_generation_json(config, c["settings"], "cases.json").ok());
    ScoreRules rules(config);
    std::vector<float> scores = c["scores"];
    std::map<int32_t, float> got;
    for (const Candidate& x : rules.warp(scores)) got[x.token] = x.score;
    ASSERT_EQ(got.size(), c["kept"].size()) << c["settings"];
    for (const json& kept : c["kept"]) {
      ASSERT_TRUE(got.contains(kept[0])) << c["settings"] << " token " << kept[0];
      EXPECT_NEAR(got[kept[0]], kept[1].get<float>(), 2e-5);
    }
  }
}

// Transformers' EncoderNoRepeatNGramLogitsProcessor: what would complete an n-gram of the source.
TEST(Scores, NGramsOfTheSourceAreOut) {
  const std::vector<int32_t> source{5, 6, 5, 7, 4};
  const auto out = [&](int64_t size, const std::vector<int32_t>& tokens) {
    GenerationConfig config;
    EXPECT_TRUE(
        apply_generation_json(config, {{"encoder_no_repeat_ngram_size", size}}, "test").ok());
    ScoreRules rules(config);
    EXPECT_FALSE(rules.none());
    std::vector<float> scores(8, 1.0f);
    rules.apply(scores, tokens, 1, 20, source);
    std::vector<int32_t> ids;
    for (size_t i = 0; i < scores.size(); ++i)
      if (std::isinf(scores[i])) ids.push_back(static_cast<int32_t>(i));
    return ids;
  };
  EXPECT_EQ(out(2, {1, 5}), (std::vector<int32_t>{6, 7}));
  EXPECT_EQ(out(2, {5, 3}), std::vector<int32_t>{});
  EXPECT_EQ(out(3, {6, 5}), std::vector<int32_t>{7});
  EXPECT_EQ(out(3, {5}), std::vector<int32_t>{});  // too short to begin one
  EXPECT_EQ(out(1, {1}), (std::vector<int32_t>{4, 5, 6, 7}));
}

// OpenAI's formula: score - count * frequency_penalty - (count > 0) * presence_penalty.
TEST(Scores, PenaltiesCountNewTokensAlone) {
  GenerationConfig config;
  ASSERT_TRUE(apply_request_json(config,
                                 {{"presence_penalty", 0.5},
                                  {"frequency_penalty", 0.25},
                                  {"logit_bias", {{"6", 100}, {"0", -1.5}}}},
                                 "test")
                  .ok());
  ASSERT_TRUE(check_generation(config, 8).ok());
  ScoreRules rules(config);
  EXPECT_FALSE(rules.none());
  std::vector<float> scores(8, 1.0f);
  for (int i = 0; i < 2; ++i) {  // counts start from zero each time
    std::fill(scores.begin(), scores.end(), 1.0f);
    rules.apply(scores, std::vector<int32_t>{1, 2, 2, 3, 2, 3, 3}, 2, 20);
  }
  EXPECT_EQ(scores, (std::vector<float>{-0.5f, 1, 0, -0.25f, 1, 1, 101, 1}));
}

TEST(Scores, RequestsCannotGiveImpossiblePenalties) {
  const auto code = [](const json& settings) {
    GenerationConfig config;
    Status s = apply_request_json(config, settings, "test");
    if (s.ok()) s = check_generation(config, 8);
    return s.ok() ? std::string() : std::string(s.error().code());
  };
  EXPECT_EQ(code({{"presence_penalty", nullptr}, {"logit_bias", nullptr}}), "");
  for (const json& bad :
       {json{{"presence_penalty", 3}}, json{{"frequency_penalty", "1"}}, json{{"logit_bias", {1}}},
        json{{"logit_bias", {{"x", 1}}}}, json{{"logit_bias", {{"8", 1}}}},
        json{{"logit_bias", {{"1", 101}}}}, json{{"logit_bias", {{"1", "1"}}}}})
    EXPECT_EQ(code(bad), "H2501") << bad;
}

TEST(Scores, LogProbabilitiesOfATokenAndTheBest) {
  const std::vector<float> logits{0, 3, 1, 3, -2};
  const double sum = 1 + 2 * std::exp(3.0) + std::exp(1.0) + std::exp(-2.0);
  const TokenLogprobs one = logprobs_of(logits, 4, 3);
  EXPECT_NEAR(one.logprob, -2 - std::log(sum), 1e-5);
  ASSERT_EQ(one.top.size(), 3u);
  EXPECT_EQ(one.top[0].token, 1);  // the first of equal ones
  EXPECT_EQ(one.top[1].token, 3);
  EXPECT_EQ(one.top[2].token, 2);
  EXPECT_NEAR(one.top[2].score, 1 - std::log(sum), 1e-5);
  EXPECT_EQ(logprobs_of(logits, 0, 9).top.size(), 5u);
}

}  // namespace
}  // namespace hone
