// Answers as SQuAD's official scripts compare them.
#include "learn/metrics/answers.h"

#include <gtest/gtest.h>

#include "learn/metrics/metric.h"

namespace hone {
namespace {

TEST(Answers, AreComparedWithoutArticlesAndPunctuation) {
  EXPECT_EQ(normal_answer("  The Eiffel-Tower, a tower! "), "eiffeltower tower");
  EXPECT_EQ(normal_answer("an apple's"), "apples");
  EXPECT_EQ(normal_answer("\u00c9t\u00e9 \u2014 the end"), "\u00e9t\u00e9 \u2014 end");
  EXPECT_EQ(normal_answer("theatre"), "theatre");
  EXPECT_EQ(normal_answer("the"), "");
}

TEST(Answers, TheBestReferenceCounts) {
  const AnswerScore exact = score_answer("The cat", {"a dog", "cat"}, false);
  EXPECT_EQ(exact.exact, 1);
  EXPECT_EQ(exact.f1, 1);
  const AnswerScore part = score_answer("black cat sleeps", {"cat", "the black dog"}, false);
  EXPECT_EQ(part.exact, 0);
  EXPECT_NEAR(part.f1, 0.5, 1e-12);  // 1 of 3 and 1 of 1
  // A repeated word counts as often as in the text with fewer of it.
  EXPECT_NEAR(score_answer("no no no", {"no no"}, false).f1, 0.8, 1e-12);
}

TEST(Answers, NoneIsAnAnswerOfTheSecondVersion) {
  EXPECT_EQ(score_answer("", {}, true).exact, 1);
  EXPECT_EQ(score_answer("", {}, true).f1, 1);
  EXPECT_EQ(score_answer("x", {}, true).f1, 0);
  EXPECT_EQ(score_answer("", {"x"}, true).exact, 0);
  EXPECT_EQ(score_answer("the", {"a"}, false).exact, 1);
  EXPECT_EQ(score_answer("the", {"a"}, false).f1, 0);
}

TEST(Answers, SquadIsTheirMeanInPercent) {
  const auto metric = make_metric("squad", {.keep_examples = true}).value();
  const std::string_view first[] = {"the cat"}, second[] = {"dog"};
  metric->add_text("cat", first);
  metric->add_text("a big dog", second);
  const MetricValues all = metric->values().value();
  EXPECT_EQ(all[0].name, "exact_match");
  EXPECT_NEAR(all[0].value, 50, 1e-9);
  EXPECT_NEAR(all[1].value, 100 * (1 + 2.0 / 3) / 2, 1e-9);
  const std::vector<int32_t> times{2, 0};
  EXPECT_NEAR(metric->values_of(times).value()[1].value, 100, 1e-9);
}

}  // namespace
}  // namespace hone
