#include "learn/files/score_files.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/count_text.h"
#include "learn/files/score_column.h"
#include "learn/metrics/characters.h"
#include "learn/metrics/errors.h"
#include "learn/metrics/interner.h"
#include "learn/metrics/sentences.h"

namespace hone {
namespace {

Result<double> number_of(std::string_view text, const ScoreColumn& column) {
  const std::string_view trimmed = strip(text);
  double value = 0;
  const auto [end, failed] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  if (failed == std::errc() && end == trimmed.data() + trimmed.size()) return value;
  return Error(err::kMetricNumber, fmt::format("'{}' is not a number", text))
      .at(column.where())
      .todo(
          "correlations compare numbers; name their column with --predictions_column and "
          "--references_column");
}

Error no_pair(const std::string& file, const std::string& longer, int64_t rows) {
  return Error(err::kMetricPairs,
               fmt::format("{} has {}, {} has more", file, count_of(rows, "row"), longer))
      .at(fmt::format("{} row {}", longer, rows + 1))
      .todo(
          "give as many references as predictions, in the same order; a text with line breaks "
          "needs a format that keeps them in one row (jsonl, csv)");
}

bool has_column(const ScoreColumn& c, std::string_view name) {
  return std::ranges::count(c.columns(), name) > 0;
}

// Texts and labels are in different columns of a file that has both.
Error needs_column(const ScoreColumn& c, const std::string& of_labels,
                   const std::string& of_texts) {
  return Error(err::kMetricPairs, fmt::format("{} compares labels and {} compares texts, which are "
                                              "in different columns",
                                              of_labels, of_texts))
      .at(fmt::format("{}: {}", c.file(), join(c.columns(), ", ")))
      .todo(
          "name the column of both with --references_column, or score them in two commands, each "
          "with its column");
}

void log_column(const char* side, const ScoreColumn& column) {
  if (column.columns().size() > 1) log_info("{:<11} {}", side, column.about());
}

class Scorer {
 public:
  explicit Scorer(const ScoreOptions& o) : options_(o) {}

  Status open() {
    MetricOptions how = options_.how;
    how.keep_examples = options_.bootstrap.samples > 0;
    how.positive_label = labels_.number(options_.positive_label);
    if (options_.nltk_data) {
      splitter_ =
          HONE_TRY(SentenceSplitter::load(HONE_TRY(find_punkt_folder(*options_.nltk_data))));
      how.sentences = &*splitter_;
    }
    for (const std::string& name : options_.metrics) {
      const MetricType type = HONE_TRY(find_metric(name));
      inputs_.push_back(type.input);
      scales_.push_back(type.scale);
      labels_words_ = labels_words_ || type.input == MetricInput::kTags;
      const bool labels = type.input == MetricInput::kLabel || type.input == MetricInput::kNumber;
      (labels ? of_labels_ : of_texts_) = type.name;
      metrics_.emplace_back(type.name, type.make(how));
    }
    return Ok{};
  }

  Status read() {
    ScoreColumn predictions =
        HONE_TRY(ScoreColumn::open(options_.predictions, options_.predictions_column));
    std::vector<ScoreColumn> references;
    for (const std::string& file : options_.references)
      references.push_back(
          HONE_TRY(ScoreColumn::open(file, options_.references_column,
                                     of_texts_.empty() ? std::span<const char* const>(kClassColumns)
                                                       : std::span<const char* const>())));
    HONE_TRY(check_mixture(references));
    log_column("predictions", predictions);
    for (const ScoreColumn& c : references) log_column("references", c);
    if (labels_words_ && references.size() > 1)
      return Error(err::kMetricPairs, "several references for each prediction of labels of words")
          .at("--references")
          .todo("give one file of references");
    std::vector<std::string> texts, expected;
    for (;; ++rows_) {
      texts.clear();
      expected.clear();
      const bool more = HONE_TRY(predictions.next(texts));
      for (size_t k = 0; k < references.size(); ++k) {
        if (HONE_TRY(references[k].next(expected)) == more) continue;
        const std::string &mine = options_.predictions, &other = options_.references[k];
        return more ? no_pair(other, mine, rows_) : no_pair(mine, other, rows_);
      }
      if (!more) {
        warn_of_other_labels(predictions, references);
        return Ok{};
      }
      if (labels_words_) {  // a list holds the labels of a text
        texts = {join(texts, " ")};
        expected = {join(expected, " ")};
      }
      if (texts.size() != 1 || expected.empty())
        return Error(err::kMetricPairs, fmt::format("{} predictions and {} references in a row",
                                                    texts.size(), expected.size()))
            .at(texts.size() != 1 ? predictions.where() : references[0].where())
            .todo("give one prediction and at least one reference in each row");
      HONE_TRY(add(texts[0], expected, predictions, references[0]));
    }
  }

  Result<OrderedJson> results() const {
    OrderedJson out, scale, details, intervals;
    out["examples"] = rows_;
    double sum = 0;
    int64_t values = 0;
    for (size_t m = 0; m < metrics_.size(); ++m) {
      const auto& [name, metric] = metrics_[m];
      const Result<MetricValues> of_metric = metric->values();
      if (!of_metric.ok()) return in_labels(of_metric.error());
      for (const MetricValue& v : *of_metric) {
        out[v.name] = v.value;
        scale[v.name] = scales_[m];
        sum += v.value;
        ++values;
      }
      if (OrderedJson more = metric->details(); !more.is_null()) details[name] = std::move(more);
      if (options_.bootstrap.samples == 0) continue;
      for (const Interval& i : HONE_TRY(bootstrap(*metric, options_.bootstrap)))
        intervals[i.name] = {i.low, i.high};
    }
    if (options_.mean && values > 1) {
      out["combined_score"] = sum / static_cast<double>(values);
      scale["combined_score"] = scales_.front();  // of the metrics of a GLUE task
    }
    out["scale"] = scale;
    if (!details.is_null()) out["details"] = details;
    if (!intervals.is_null())
      out["bootstrap"] = {{"samples", options_.bootstrap.samples},
                          {"seed", static_cast<int64_t>(options_.bootstrap.seed)},
                          {"confidence", options_.bootstrap.confidence},
                          {"intervals", intervals}};
    return out;
  }

 private:
  Status check_mixture(const std::vector<ScoreColumn>& references) const {
    if (of_labels_.empty() || of_texts_.empty() || !options_.references_column.empty()) return Ok{};
    for (const ScoreColumn& c : references) {
      const bool has_labels =
          std::ranges::any_of(kClassColumns, [&](const char* name) { return has_column(c, name); });
      if (c.columns().size() > 1 && (has_labels || !has_column(c, "text")))
        return needs_column(c, of_labels_, of_texts_);
    }
    return Ok{};
  }

  // Metrics know labels by numbers alone.
  Error in_labels(const Error& error) const {
    const std::string& wanted = options_.positive_label;
    std::vector<std::string> names;
    for (const auto& [number, seen] : seen_) names.push_back(seen.name);
    if (!error.is(err::kMetricClasses) || names.size() != 2 || std::ranges::count(names, wanted))
      return error;
    const std::string near = nearest_name(wanted, names);
    return Error(err::kMetricClasses,
                 fmt::format("neither predictions nor references have the positive class of F1, "
                             "'{}'",
                             wanted))
        .at(fmt::format("the labels are '{}' and '{}'", names[0], names[1]))
        .todo(fmt::format("{} choose an average over the classes (--f1_average macro)",
                          near.empty()
                              ? fmt::format("name the positive one, such as --pos_label "
                                            "{}, or",
                                            shell_word(names[0]))
                              : fmt::format("did you mean --pos_label {}? Or", shell_word(near))));
  }

  Status add(const std::string& prediction, const std::vector<std::string>& references,
             const ScoreColumn& predictions, const ScoreColumn& first_reference) {
    for (size_t m = 0; m < metrics_.size(); ++m) {
      Metric& metric = *metrics_[m].second;
      if (inputs_[m] == MetricInput::kText || inputs_[m] == MetricInput::kTags) {
        views_.assign(references.begin(), references.end());
        metric.add_text(prediction, views_);
      } else if (references.size() > 1) {
        return Error(err::kMetricPairs, fmt::format("{} references for one prediction of {}",
                                                    references.size(), metrics_[m].first))
            .at(first_reference.where())
            .todo("metrics of labels and numbers take one reference; give one file");
      } else if (inputs_[m] == MetricInput::kLabel) {
        const int64_t predicted = labels_.number(strip(prediction));
        const int64_t expected = labels_.number(strip(references[0]));
        if (seen_.empty()) first_ = {std::string(strip(prediction)), references[0]};
        see(predicted, strip(prediction)).predicted = true;
        see(expected, strip(references[0])).expected = true;
        metric.add_label(predicted, expected);
      } else {
        const double predicted = HONE_TRY(number_of(prediction, predictions));
        metric.add_number(predicted, HONE_TRY(number_of(references[0], first_reference)));
      }
    }
    return Ok{};
  }

  struct SeenLabel {
    std::string name;
    bool predicted = false, expected = false;
  };
  SeenLabel& see(int64_t number, std::string_view name) {
    SeenLabel& label = seen_[number];
    if (label.name.empty()) label.name = name;
    return label;
  }

  // Labels that only one side has are usually those of another column.
  void warn_of_other_labels(const ScoreColumn& predictions,
                            const std::vector<ScoreColumn>& references) const {
    const bool common = std::ranges::any_of(
        seen_, [](const auto& label) { return label.second.predicted && label.second.expected; });
    if (seen_.empty() || common) return;
    const ScoreColumn& r = references.front();
    log_warning(
        "no label of {} is a label of {}: predictions are such as '{}', references such as '{}'; "
        "{}",
        predictions.file(), r.file(), first_.first, strip(first_.second),
        r.columns().size() > 1 ? fmt::format("--references_column names another column of {}: {}",
                                             r.file(), join(r.columns(), ", "))
                               : "--predictions_column and --references_column name other columns");
  }

  const ScoreOptions& options_;
  std::optional<SentenceSplitter> splitter_;
  Interner labels_;
  std::vector<MetricInput> inputs_;
  std::vector<int64_t> scales_;
  bool labels_words_ = false;  // some metric compares the labels of words
  std::vector<std::pair<std::string, std::unique_ptr<Metric>>> metrics_;
  std::string of_labels_, of_texts_;  // a metric that compares labels or numbers, and one of texts
  std::map<int64_t, SeenLabel> seen_;
  std::pair<std::string, std::string> first_;  // the first prediction and its reference
  std::vector<std::string_view> views_;
  int64_t rows_ = 0;
};

}  // namespace

Result<OrderedJson> score_files(const ScoreOptions& options) {
  Scorer scorer(options);
  HONE_TRY(scorer.open());
  HONE_TRY(scorer.read());
  return scorer.results();
}

}  // namespace hone
