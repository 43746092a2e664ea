#include "operate/registry/row_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/core/text.h"
#include "learn/metrics/metric.h"
#include "learn/metrics/retrieval.h"
#include "operate/registry/errors.h"

namespace hone {
namespace {

using EvaluatedRows = std::vector<const EvaluatedRow*>;

double score_at(const EvaluatedRow& row, const std::string& name) {
  const auto it = row.scores.find(name);
  return it != row.scores.end() && it->is_number() ? it->get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN();
}

bool all_have(const EvaluatedRows& rows, const std::string& name) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](const EvaluatedRow* r) { return std::isfinite(score_at(*r, name)); });
}

// Sum of one score by the sum of another, or by the number of rows; perplexity is its exponential.
class Ratio : public RowScores {
 public:
  Ratio(const EvaluatedRows& rows, const std::string& over, const std::string& under,
        bool exponential)
      : exponential_(exponential) {
    for (const EvaluatedRow* r : rows) {
      over_.push_back(score_at(*r, over));
      under_.push_back(under.empty() ? 1 : score_at(*r, under));
    }
  }
  Result<double> value(std::span<const int32_t> times) const override {
    double over = 0, under = 0;
    for (size_t i = 0; i < over_.size(); ++i) {
      over += over_[i] * times[i];
      under += under_[i] * times[i];
    }
    return exponential_ ? std::exp(over / under) : over / under;
  }

 private:
  std::vector<double> over_, under_;
  bool exponential_;
};

// A value of a metric that is more than a mean of rows.
class OfTexts : public RowScores {
 public:
  OfTexts(std::unique_ptr<Metric> metric, std::string name, const EvaluatedRows& rows)
      : metric_(std::move(metric)), name_(std::move(name)) {
    for (const EvaluatedRow* r : rows) {
      const std::string_view references[] = {r->reference};
      metric_->add_text(r->prediction, references);
    }
  }
  Result<double> value(std::span<const int32_t> times) const override {
    for (const MetricValue& v : HONE_TRY(metric_->values_of(times)))
      if (v.name == name_) return v.value;
    return std::numeric_limits<double>::quiet_NaN();
  }

 private:
  std::unique_ptr<Metric> metric_;
  std::string name_;
};

// Metrics of the prediction and what was wanted of all rows: numbers, for correlations and the average
// precision of labels 0 and 1; or labels, where rows also have their number in `classes`.
constexpr const char *kPredicted = "predicted", *kWanted = "wanted", *kClasses = "classes";
// Names of a row that any number of them suits, for the F1 over all rows: twice those that are right, and
// those that are predicted plus those that are wanted.
constexpr const char *kNamesFound = "names_found", *kNamesGiven = "names_given";
constexpr const char* kAveragePrecision = "average_precision";

class OfAllRows : public RowScores {
 public:
  OfAllRows(const EvaluatedRows& rows, std::string metric, MetricInput input)
      : metric_(std::move(metric)), input_(input) {
    for (const EvaluatedRow* r : rows) {
      predicted_.push_back(score_at(*r, kPredicted));
      wanted_.push_back(score_at(*r, kWanted));
    }
    if (!rows.empty() && score_at(*rows[0], kClasses) > 2) options_.average = "macro";
  }
  Result<double> value(std::span<const int32_t> times) const override {
    if (metric_ == kAveragePrecision) return precision(times);
    const auto metric = HONE_TRY(make_metric(metric_, options_));
    for (size_t i = 0; i < predicted_.size(); ++i)
      for (int32_t n = 0; n < times[i]; ++n) {
        if (input_ == MetricInput::kNumber)
          metric->add_number(predicted_[i], wanted_[i]);
        else
          metric->add_label(static_cast<int64_t>(predicted_[i]), static_cast<int64_t>(wanted_[i]));
      }
    return HONE_TRY(metric->values())[0].value;
  }

 private:
  double precision(std::span<const int32_t> times) const {
    std::vector<float> scores;
    std::vector<uint8_t> answers;
    for (size_t i = 0; i < predicted_.size(); ++i)
      for (int32_t n = 0; n < times[i]; ++n) {
        scores.push_back(static_cast<float>(predicted_[i]));
        answers.push_back(wanted_[i] == 1);
      }
    return average_precision(scores, answers);
  }

  std::string metric_;
  MetricInput input_;
  MetricOptions options_;
  std::vector<double> predicted_, wanted_;
};

// A metric of all rows by a name such as "spearman_cosine" or "f1", or null: these rows do not give it.
std::unique_ptr<RowScores> of_all_rows(const EvaluatedRows& rows, const std::string& name) {
  if (!all_have(rows, kPredicted) || !all_have(rows, kWanted)) return nullptr;
  const bool labels = all_have(rows, kClasses);
  std::string metric = name;
  if (!labels)
    for (const auto& [begin, of_shelf] :
         {std::pair("pearson", "pearson"), std::pair("spearman", "spearmanr")})
      if (name.starts_with(begin)) metric = of_shelf;
  if (!labels && name == kAveragePrecision)
    return std::make_unique<OfAllRows>(rows, metric, MetricInput::kNumber);
  const MetricInput input = labels ? MetricInput::kLabel : MetricInput::kNumber;
  const auto type = find_metric(metric);
  if (!type.ok() || type->input != input) return nullptr;
  return std::make_unique<OfAllRows>(rows, type->name, input);
}

// The metric of the shelf that a name belongs to; "" for means of rows.
std::string corpus_metric(const std::string& name) {
  if (name == "bleu" || name == "sacrebleu") return "bleu";
  if (name == "chrf") return "chrf";
  if (name == "f1" || name == "precision" || name == "recall") return "seqeval";
  return "";
}

// Numbers of a row that metrics are computed from; their mean compares nothing.
bool is_part_of_metrics(const std::string& name) {
  for (const char* part :
       {"nll", "tokens", "correct", kPredicted, kWanted, kClasses, kNamesFound, kNamesGiven})
    if (name == part) return true;
  return false;
}

// The scores of a metric; null: these rows do not give it.
Result<std::unique_ptr<RowScores>> find_scores(const EvaluatedRows& rows,
                                               const std::string& metric) {
  const auto texts = [&] {
    return std::all_of(rows.begin(), rows.end(),
                       [](const EvaluatedRow* r) { return !r->reference.empty(); });
  };
  std::unique_ptr<RowScores> scores;
  const std::string corpus = corpus_metric(metric);
  const bool loss = metric == "loss" || metric == "loss_per_token" || metric == "perplexity";
  // Rows of classification have names of classes there, not of entities; a row of several names has counts
  // of them. Answers to questions have an F1 of their own, entities are counted over all rows.
  const bool classes = all_have(rows, kClasses), many = all_have(rows, kNamesFound),
             entities = !many && !all_have(rows, "accuracy") && !all_have(rows, kWanted);
  if (corpus == "seqeval" && many && metric == "f1")
    scores = std::make_unique<Ratio>(rows, kNamesFound, kNamesGiven, false);
  else if (corpus == "seqeval" && classes)
    scores = of_all_rows(rows, metric);
  else if (corpus == "seqeval" && all_have(rows, metric))
    scores = std::make_unique<Ratio>(rows, metric, "", false);
  else if (!corpus.empty() && texts() && (corpus == "seqeval" ? entities : !classes))
    scores = std::make_unique<OfTexts>(HONE_TRY(make_metric(corpus, {.keep_examples = true})),
                                       metric == "sacrebleu" ? "bleu" : metric, rows);
  else if (all_have(rows, metric) && !is_part_of_metrics(metric))
    scores = std::make_unique<Ratio>(rows, metric, "", false);
  else if (loss && all_have(rows, "nll") && all_have(rows, "tokens"))
    scores = std::make_unique<Ratio>(rows, "nll", "tokens", metric == "perplexity");
  else if (metric == "loss" && all_have(rows, "mse"))  // of a number it is the squared error
    scores = std::make_unique<Ratio>(rows, "mse", "", false);
  else if (metric == "accuracy" && all_have(rows, "correct") && all_have(rows, "tokens"))
    scores = std::make_unique<Ratio>(rows, "correct", "tokens", false);
  if (!scores) scores = of_all_rows(rows, metric);
  return scores;
}

// The names of metrics that the rows give: their own scores, and those of the shelf that they suffice for.
std::vector<std::string> metrics_of_rows(const EvaluatedRows& rows) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    const auto scores = find_scores(rows, name);
    if (scores.ok() && *scores && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  if (rows.empty()) return names;
  for (const auto& [name, value] : rows[0]->scores.items()) add(name);
  for (const char* name : {"loss", "perplexity", "accuracy", kAveragePrecision}) add(name);
  for (const MetricType& type : all_metric()) add(type.name);
  return names;
}

}  // namespace

Result<std::unique_ptr<RowScores>> row_scores(const std::vector<const EvaluatedRow*>& rows,
                                              const std::string& metric) {
  if (auto scores = HONE_TRY(find_scores(rows, metric))) return scores;
  const std::vector<std::string> names = metrics_of_rows(rows);
  const std::string near = nearest_name(metric, names);
  const auto type = find_metric(metric);
  const bool needs_texts = type.ok() && type->input == MetricInput::kText;
  return Error(err::kNoScore, fmt::format("the rows of the evaluation have no metric '{}'", metric))
      .todo(fmt::format(
          "{}the rows give {}; name one of them in the policy, in a pipeline's file by \"policy\": "
          "{{\"metric\": ...}}{}",
          near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
          names.empty() ? "no metric" : fmt::format("{}", fmt::join(names, ", ")),
          needs_texts ? "; or add --predict_with_generate to hone eval: this metric needs texts"
                      : ""));
}

}  // namespace hone
