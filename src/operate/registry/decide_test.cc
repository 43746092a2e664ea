// Verdicts from rows that were made for them.
#include "operate/registry/decide.h"

#include <gmock/gmock.h>

#include "learn/metrics/bootstrap.h"
#include "operate/registry/deciding_metric.h"
#include "operate/registry/errors.h"
#include "operate/registry/row_scores.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

DecisionPolicy policy(const std::string& text) {
  return std::move(parse_policy(text, "policy.json").value());
}
std::string refusal(const std::string& text) {
  return parse_policy(text, "policy.json").error().text();
}

// Rows with one score each, and a column.
Evaluation rows_of(const std::string& metric, const std::vector<double>& scores) {
  Evaluation e;
  for (size_t i = 0; i < scores.size(); ++i) {
    EvaluatedRow r{fmt::format("d-{}", i), "", "", {}, {}};
    r.scores = {{metric, scores[i]}};
    r.slices = {{"lang", i % 2 == 0 ? "en" : "de"}};
    e.rows.push_back(r);
  }
  return e;
}

class DecideTest : public testing::Test {
 protected:
  Decision verdict(const Evaluation& mine, const Evaluation& other, const std::string& text) {
    return decide({.version = new_,
                   .evaluation = &mine,
                   .against = &old_,
                   .against_evaluation = &other},
                  policy(text))
        .value();
  }
  ModelVersion new_{.model = "news", .number = 2}, old_{.model = "news", .number = 1};
};

TEST_F(DecideTest, PromotesTheFirstThatMeetsTheFloor) {
  new_.metrics = {{"eval_rouge1", 21.5}};
  const auto alone = [&](const std::string& text) {
    return decide({.version = new_}, policy(text)).value();
  };
  EXPECT_EQ(alone(R"({"metric": "rouge1"})").verdict, "promote");
  const Decision met = alone(R"({"metric": "eval_rouge1", "floor": 20})");
  EXPECT_EQ(met.verdict, "promote");
  EXPECT_EQ(met.reason, "no version is champion yet, and rouge1 21.5 meets the floor 20");
  const Decision missed = alone(R"({"metric": "rouge1", "floor": 22})");
  EXPECT_EQ(missed.verdict, "refuse");
  EXPECT_EQ(missed.reason, "rouge1 is 21.5, the floor is 22");
  EXPECT_EQ(alone(R"({"metric": "loss"})").verdict, "promote") << "no floor, so no value is needed";
  const Evaluation rows = rows_of("accuracy", {1, 0});
  EXPECT_THAT(decide({.version = new_, .evaluation = &rows}, policy(R"({"metric": "rouge2"})"))
                  .error()
                  .text(),
              AllOf(HasSubstr("H3144"), HasSubstr("the rows give accuracy"),
                    HasSubstr(R"("policy": {"metric": ...})")))
      << "nothing could be compared with it";
  EXPECT_THAT(
      decide({.version = new_}, policy(R"({"metric": "rouge2", "floor": 1})")).error().text(),
      AllOf(HasSubstr("H3144"), HasSubstr("'rouge1' is there")));
  new_.metrics = {{"eval_loss", 2.0}};
  EXPECT_EQ(alone(R"({"metric": "loss", "floor": 2.5})").verdict, "promote")
      << "a loss is better below its floor";
  EXPECT_EQ(alone(R"({"metric": "loss", "floor": 1.5})").verdict, "refuse");
}

TEST_F(DecideTest, PromotesRefusesAndHoldsByTheInterval) {
  const Evaluation old = rows_of("accuracy", {0, 0, 0, 1, 1, 1, 0, 0, 0, 0});
  const Evaluation better = rows_of("accuracy", {1, 1, 0, 1, 1, 1, 1, 1, 1, 1});
  const Evaluation mixed = rows_of("accuracy", {1, 0, 0, 1, 1, 0, 0, 1, 0, 0});
  const std::string plain = R"({"metric": "accuracy"})";
  const Decision promoted = verdict(better, old, plain);
  EXPECT_EQ(promoted.verdict, "promote");
  EXPECT_EQ(promoted.evidence["comparison"]["gain"].get<double>(), 0.9 - 0.3);
  EXPECT_EQ(promoted.evidence["comparison"]["rows"], 10);
  EXPECT_EQ(verdict(old, better, plain).verdict, "refuse");
  EXPECT_EQ(verdict(old, old, plain).verdict, "refuse") << "no better than before";
  EXPECT_EQ(verdict(mixed, old, plain).verdict, "hold");
  EXPECT_EQ(verdict(better, old, R"({"metric": "accuracy", "minimum_gain": 0.5})").verdict, "hold");
  EXPECT_EQ(verdict(old, old, R"({"metric": "accuracy", "minimum_gain": -0.1})").verdict, "promote")
      << "as good as before is enough";
  new_.number = old_.number;
  EXPECT_THAT(verdict(old, old, plain).reason, HasSubstr("is champion already"));
}

TEST_F(DecideTest, SaysWhatFavoursOneOfTheTwo) {
  const Evaluation old = rows_of("accuracy", {0, 0, 0, 1, 1, 1, 0, 0, 0, 0});
  const Evaluation better = rows_of("accuracy", {1, 1, 0, 1, 1, 1, 1, 1, 1, 1});
  DecisionInput input{.version = new_, .evaluation = &better, .against = &old_};
  input.against_evaluation = &old;
  input.caution = "it saw them";
  const Decision warned = decide(input, policy(R"({"metric": "accuracy"})")).value();
  EXPECT_EQ(warned.verdict, "promote");
  EXPECT_THAT(warned.reason, EndsWith("10 rows); it saw them"));
  EXPECT_EQ(warned.evidence["caution"], "it saw them");
  input.against = nullptr;
  EXPECT_THAT(decide(input, policy(R"({"metric": "accuracy"})"))->reason,
              Not(HasSubstr("it saw them")))
      << "nothing was compared";
}

TEST_F(DecideTest, LooksAtSlices) {
  // Better in all, worse in German.
  std::vector<double> before(40, 0), after(40, 0);
  for (size_t i = 0; i < 40; i += 2) after[i] = 1;
  for (size_t i = 1; i < 16; i += 2) before[i] = 1;
  const Evaluation old = rows_of("accuracy", before), mine = rows_of("accuracy", after);
  EXPECT_EQ(verdict(mine, old, R"({"metric": "accuracy", "slices": ["lang"]})").verdict, "promote")
      << "slices are reported only";
  const Decision d =
      verdict(mine, old, R"({"metric": "accuracy", "slices": ["lang"], "max_slice_loss": 0.05})");
  EXPECT_EQ(d.verdict, "refuse");
  EXPECT_THAT(d.reason, HasSubstr("where lang is 'de', accuracy loses 0.4"));
  EXPECT_EQ(d.evidence["slices"]["lang"]["en"]["gain"], 1.0);
  EXPECT_THAT(worse_slices(d.evidence),
              testing::ElementsAre("worse where lang is 'de': accuracy 0 against 0.4, 20 rows"));
  EXPECT_TRUE(worse_slices(nullptr).empty());
  EXPECT_EQ(
      verdict(mine, old, R"({"metric": "accuracy", "slices": ["lang"], "max_slice_loss": 0.3})")
          .verdict,
      "hold");
  const auto unknown =
      decide({.version = new_, .evaluation = &mine, .against = &old_, .against_evaluation = &old},
             policy(R"({"metric": "accuracy", "slices": ["country"]})"));
  EXPECT_THAT(unknown.error().text(),
              AllOf(HasSubstr("H3144"), HasSubstr("--slice_columns country")));
}

TEST_F(DecideTest, HoldsWhereASliceHasFewRows) {
  // One row of another language got worse: its interval has no width, and is not certain.
  std::vector<double> before(40, 0), after(40, 1);
  before[0] = 1, after[0] = 0;
  Evaluation old = rows_of("accuracy", before), mine = rows_of("accuracy", after);
  old.rows[0].slices = mine.rows[0].slices = {{"lang", "fr"}};
  const Decision d =
      verdict(mine, old, R"({"metric": "accuracy", "slices": ["lang"], "max_slice_loss": 0.05})");
  EXPECT_EQ(d.verdict, "hold");
  EXPECT_THAT(d.reason, HasSubstr("too few rows"));
}

TEST_F(DecideTest, RefusesEntitiesOfClasses) {
  Evaluation e = rows_of("accuracy", {1, 0});
  std::vector<const EvaluatedRow*> rows;
  for (EvaluatedRow& r : e.rows) {
    r.prediction = "0", r.reference = "1";
    rows.push_back(&r);
  }
  EXPECT_THAT(row_scores(rows, "f1").error().text(), AllOf(HasSubstr("H3144"), HasSubstr("f1")));
}

TEST_F(DecideTest, ComputesMetricsOfClassesNumbersAndNames) {
  const auto value = [](const std::vector<OrderedJson>& scores, const std::string& metric) {
    std::vector<EvaluatedRow> all;
    for (const OrderedJson& s : scores) all.push_back({"d", "good", "bad", s, {}});
    std::vector<const EvaluatedRow*> rows;
    for (const EvaluatedRow& r : all) rows.push_back(&r);
    const auto found = row_scores(rows, metric);
    if (!found.ok()) return std::string(found.error().code());
    return fmt::format("{:.4f}", (*found)->value(std::vector<int32_t>(rows.size(), 1)).value());
  };
  std::vector<OrderedJson> classes, numbers, names;
  const int predicted[] = {1, 1, 0, 1, 0}, wanted[] = {1, 0, 0, 1, 1};
  for (int i = 0; i < 5; ++i) {
    const int right = predicted[i] == wanted[i];
    classes.push_back({{"accuracy", right},
                       {"nll", 0.5},
                       {"tokens", 1},
                       {"predicted", predicted[i]},
                       {"wanted", wanted[i]},
                       {"classes", 2}});
    numbers.push_back({{"mse", 0.25 * i}, {"predicted", 1.0 * i}, {"wanted", 2.0 * i + 1}});
    names.push_back({{"exact_match", right},
                     {"nll", 0.5},
                     {"tokens", 1},
                     {"names_found", 2 * right},
                     {"names_given", 3}});
  }
  EXPECT_EQ(value(classes, "f1"), "0.6667");  // 2 of 3 predicted and 2 of 3 wanted
  EXPECT_EQ(value(classes, "matthews_correlation"), "0.1667");
  EXPECT_EQ(value(classes, "accuracy"), "0.6000");
  EXPECT_EQ(value(classes, "loss"), "0.5000");
  for (const char* other : {"mse", "pearson", "precision", "average_precision"})
    EXPECT_EQ(value(classes, other), err::kNoScore.id) << other;
  EXPECT_EQ(value(numbers, "pearson"), "1.0000");
  EXPECT_EQ(value(numbers, "spearmanr"), "1.0000");
  EXPECT_EQ(value(numbers, "mse"), "0.5000");
  EXPECT_EQ(value(numbers, "loss"), "0.5000");
  EXPECT_EQ(value(numbers, "f1"), err::kNoScore.id);
  EXPECT_EQ(value(names, "f1"), "0.4000");  // 3 of 5 rows, 2 times each, by 15 names
  EXPECT_EQ(value(names, "exact_match"), "0.6000");
  EXPECT_EQ(value(names, "accuracy"), err::kNoScore.id);
  for (OrderedJson& of : classes) of["classes"] = 3;
  EXPECT_EQ(value(classes, "f1"), "0.5833");  // the mean over the labels that occur
}

// The F1 of an answer is a score of its row, whatever texts it has.
TEST_F(DecideTest, TakesTheF1OfAnswersFromTheirRows) {
  Evaluation e = rows_of("f1", {100, 50, 0, 50});
  for (EvaluatedRow& r : e.rows) r.prediction = "at nine", r.reference = R"(["nine"])";
  EXPECT_EQ(metric_of(new_, &e, "f1").value(), 50);
}

TEST_F(DecideTest, TakesTheEvaluationBeforeTheMetrics) {
  const Evaluation e = rows_of("accuracy", {1, 0, 1, 1});
  new_.metrics = {{"eval_accuracy", 0.25}, {"eval_other", 3.0}};
  EXPECT_EQ(metric_of(new_, &e, "accuracy").value(), 0.75);
  EXPECT_EQ(metric_of(new_, nullptr, "accuracy").value(), 0.25);
  EXPECT_EQ(metric_of(new_, &e, "other").value(), 3.0);
}

TEST_F(DecideTest, PairsRowsByTheirIds) {
  const Evaluation old = rows_of("accuracy", {0, 1, 0, 1});
  Evaluation turned = old;
  std::reverse(turned.rows.begin(), turned.rows.end());
  EXPECT_EQ(differing_rows(old, turned), "");
  EXPECT_EQ(verdict(turned, old, R"({"metric": "accuracy"})").evidence["comparison"]["interval"],
            OrderedJson::array({0.0, 0.0}));
  turned.rows.pop_back();
  turned.run = {{"data", "sha256:0123456789abcdef"}};
  EXPECT_EQ(differing_rows(old, turned),
            "4 rows and 3 rows of data sha256:0123456789ab, 3 in common");
  // A version of the file in which one row was changed: its ids say nothing of the other rows.
  for (EvaluatedRow& r : turned.rows) r.id = "e" + r.id;
  EXPECT_EQ(differing_rows(old, turned), "4 rows and 3 rows of data sha256:0123456789ab");
}

TEST_F(DecideTest, ComputesMetricsOfAnyRows) {
  Evaluation e;
  for (int i = 0; i < 3; ++i) {
    EvaluatedRow r{fmt::format("d-{}", i),
                   i == 0 ? "the cat sat on the mat" : "a dog",
                   "the cat sat on the mat",
                   {},
                   {}};
    r.scores = {{"nll", 1.0 + i}, {"tokens", 2 * i + 1}, {"correct", i}, {"rouge1", 10.0 * i}};
    e.rows.push_back(r);
  }
  std::vector<const EvaluatedRow*> rows;
  for (const EvaluatedRow& r : e.rows) rows.push_back(&r);
  const auto value = [&](const std::string& metric, std::vector<int32_t> times) {
    return row_scores(rows, metric).value()->value(times).value();
  };
  EXPECT_EQ(value("rouge1", {1, 1, 1}), 10.0);
  EXPECT_EQ(value("rouge1", {0, 0, 3}), 20.0);
  EXPECT_EQ(value("loss", {1, 1, 1}), 6.0 / 9);
  EXPECT_EQ(value("perplexity", {2, 0, 0}), std::exp(1.0));
  EXPECT_EQ(value("accuracy", {1, 1, 1}), 3.0 / 9);
  EXPECT_NEAR(value("bleu", {1, 0, 0}), 100, 1e-9);
  EXPECT_LT(value("bleu", {1, 1, 1}), 80);
  EXPECT_NEAR(value("chrf", {1, 0, 0}), 100, 1e-9);
  EXPECT_THAT(
      row_scores(rows, "rouge7").error().text(),
      AllOf(HasSubstr("H3144"), HasSubstr("did you mean 'rouge1'? the rows give rouge1, loss")));
  // Numbers that metrics are made of compare nothing by themselves.
  for (const char* part : {"tokens", "correct", "nll"})
    EXPECT_TRUE(row_scores(rows, part).error().is(err::kNoScore)) << part;
}

// Pairs to embed have neither the usual metric of their task nor a loss.
TEST(DecidingMetric, IsOneThatTheEvaluationGives) {
  const auto name = [](const OrderedJson& metrics, const char* task) {
    const auto found = deciding_metric(metrics, task, OrderedJson());
    return found ? found->name : "";
  };
  const OrderedJson pairs = {
      {"train_loss", 0.4}, {"eval_cosine_accuracy@1", 0.5}, {"eval_cosine_ndcg@10", 0.7}};
  EXPECT_EQ(name(pairs, "embedding"), "eval_cosine_ndcg@10");
  EXPECT_EQ(name({{"train_loss", 0.4}, {"eval_perplexity", 2.0}, {"eval_loss", 0.7}}, "clm"),
            "eval_loss");
  EXPECT_EQ(name({{"train_loss", 0.4}}, "embedding"), "train_loss");
}

TEST_F(DecideTest, ChecksParity) {
  Evaluation recorded = rows_of("nll", {4, 5, 6});
  Evaluation now = recorded;
  EXPECT_TRUE(check_parity(recorded, now, policy(R"({"metric": "loss"})")).passed);
  now.rows.pop_back();
  now.rows[1].scores["nll"] = 5.01;
  const ParityCheck differs = check_parity(recorded, now, policy(R"({"metric": "loss"})"));
  EXPECT_FALSE(differs.passed);
  EXPECT_THAT(differs.reason, HasSubstr("0.01 a token"));
  EXPECT_TRUE(
      check_parity(recorded, now, policy(R"({"metric": "loss", "parity": {"tolerance": 0.02}})"))
          .passed);
  EXPECT_TRUE(
      check_parity(recorded, now, policy(R"({"metric": "loss", "parity": {"dtype": "bf16"}})"))
          .passed)
      << "fewer bits, more tolerance";
  now = recorded;
  now.rows[2].prediction = "other";
  EXPECT_THAT(check_parity(recorded, now, policy(R"({"metric": "loss"})")).reason,
              HasSubstr("2 of 3 rows only; d-2"));
  EXPECT_TRUE(
      check_parity(recorded, now, policy(R"({"metric": "loss", "parity": {"same_texts": 0.5}})"))
          .passed);
  now = recorded;
  now.rows.erase(now.rows.begin());
  EXPECT_TRUE(check_parity(recorded, now, policy(R"({"metric": "loss"})")).passed)
      << "rows that were drawn, with their ids";
  now.rows.clear();
  EXPECT_FALSE(check_parity(recorded, now, policy(R"({"metric": "loss"})")).passed);
  DecisionInput input{.version = new_};
  input.parity = differs;
  EXPECT_EQ(decide(input, policy(R"({"metric": "loss"})")).value().verdict, "refuse");
}

TEST_F(DecideTest, RefusesPolicies) {
  EXPECT_THAT(refusal("[1]"), HasSubstr("H3143"));
  EXPECT_THAT(refusal("{"), HasSubstr("policy.json:1"));
  EXPECT_THAT(refusal(" \n"), HasSubstr("H3143  the policy is empty\n  at   policy.json\n"));
  EXPECT_THAT(refusal("{}"), HasSubstr("the policy has no 'metric'"));
  EXPECT_THAT(refusal(R"({"metric": ""})"), HasSubstr("the name of a metric"));
  EXPECT_THAT(refusal(R"({"metrik": "f1"})"), HasSubstr("did you mean 'metric'?"));
  EXPECT_EQ(refusal("{metric: 1}"),
            "H3143  the policy is not JSON: a key in double quotes should be here\n"
            "  at   policy.json:1:2\n"
            "  do   write one like {\"metric\": \"rouge1\", \"floor\": 20}");
  EXPECT_THAT(refusal(R"({"metric": "loss", "flor": 2})"), HasSubstr("did you mean 'floor'?"));
  EXPECT_THAT(refusal(R"({"metric": "loss", "floor": "2"})"),
              HasSubstr("'floor' of the policy is \"2\""));
  EXPECT_THAT(refusal(R"({"metric": "loss", "confidence": 1.5})"), HasSubstr("from 0.5 to 0.9999"));
  EXPECT_THAT(refusal(R"({"metric": "loss", "slices": "a"})"), HasSubstr("a list of texts"));
  EXPECT_THAT(refusal(R"({"metric": "loss", "bootstrap_samples": 2.5})"),
              HasSubstr("whole number"));
  EXPECT_THAT(refusal(R"({"metric": "loss", "parity": {"row": 2}})"),
              HasSubstr("did you mean 'rows'?"));
  EXPECT_THAT(refusal(R"({"metric": "loss", "parity": {"dtype": "int4"}})"),
              HasSubstr("bf16 or int8"));
  EXPECT_FALSE(policy(R"({"metric": "eval_loss"})").higher_is_better);
  EXPECT_TRUE(policy(R"({"metric": "loss", "higher_is_better": true})").higher_is_better);
}

TEST_F(DecideTest, OfLossesAndCostsLessIsBetter) {
  for (const char* less : {"loss_per_token", "wer", "mae", "memory_measured_bytes", "train_runtime",
                           "train_seconds_per_step", "train_predicted_step_s"})
    EXPECT_TRUE(lower_is_better(less)) << less;
  for (const char* more : {"rougeLsum", "accuracy", "train_samples_per_second", "answer_f1"})
    EXPECT_FALSE(lower_is_better(more)) << more;
}

TEST_F(DecideTest, RefusesRows) {
  const auto why = [](const std::string& text) {
    return parse_examples(text, "rows.jsonl").error().text();
  };
  EXPECT_THAT(why(""), AllOf(HasSubstr("H3142"), HasSubstr("no rows")));
  EXPECT_THAT(why("{\"id\": \"a\"}\nx"), HasSubstr("rows.jsonl:2"));
  EXPECT_THAT(why("{\"ids\": \"a\"}"), HasSubstr("has no id"));
  EXPECT_THAT(why("{\"id\": \"a\"}\n{\"id\": \"a\"}"), HasSubstr("two rows have the id 'a'"));
}

TEST_F(DecideTest, DrawsAsTheIntervalsOfMetricsDo) {
  const Evaluation old = rows_of("accuracy", {0, 1, 0, 1}),
                   mine = rows_of("accuracy", {1, 1, 0, 1});
  EXPECT_EQ(verdict(mine, old, R"({"metric": "accuracy", "seed": 7})").evidence["comparison"],
            verdict(mine, old, R"({"metric": "accuracy", "seed": 7})").evidence["comparison"]);
  std::vector<int32_t> times(4);
  draw_examples(7, 0, times);
  EXPECT_EQ(times[0] + times[1] + times[2] + times[3], 4);
}

}  // namespace
}  // namespace hone
