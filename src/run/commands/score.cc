// hone score: metrics of a file of predictions against files of references, row by row. Memory is
// that of a row, and of what the metrics keep.
#include <charconv>

#include "base/core/json.h"
#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/files.h"
#include "learn/metrics/bootstrap.h"
#include "learn/metrics/characters.h"
#include "learn/metrics/errors.h"
#include "learn/metrics/interner.h"
#include "learn/metrics/sentences.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

struct ScoreSettings {
#define HONE_SETTINGS "run/commands/score.def"
#include "base/settings/fields.inc"
};

// One column of a file. In a predict_results file of run_glue that is what follows the index.
class Column {
 public:
  static Result<Column> open(const std::string& file, const std::string& wanted) {
    Column c;
    RowOptions options;
    options.keep_linebreaks = false;
    c.name_ = wanted;
    c.rows_ = HONE_TRY(open_rows({file}, options));
    c.column_ = HONE_TRY(text_column(*c.rows_, wanted));
    return c;
  }

  // Appends the texts of the next row; false after the last one.
  Result<bool> next(std::vector<std::string>& texts) {
    if (!HONE_TRY(rows_->next(row_))) return false;
    if (first_ && is_text("index\tprediction")) {
      has_index_ = true;
      if (!HONE_TRY(rows_->next(row_))) return false;
    }
    first_ = false;
    const Cell& cell = row_.cells[column_];
    if (const auto* list = std::get_if<std::vector<std::string>>(&cell))
      texts.insert(texts.end(), list->begin(), list->end());
    else if (const auto* whole = std::get_if<int64_t>(&cell))
      texts.push_back(std::to_string(*whole));
    else if (const auto* number = std::get_if<double>(&cell))
      texts.push_back(double_text(*number));
    else if (const auto* yes = std::get_if<bool>(&cell))
      texts.push_back(*yes ? "1" : "0");
    else
      texts.emplace_back(HONE_TRY(cell_text(row_, column_, name_.empty() ? "text" : name_)));
    if (has_index_) texts.back().erase(0, texts.back().find('\t') + 1);
    return true;
  }
  std::string where() const { return row_.where(); }

 private:
  bool is_text(std::string_view wanted) const {
    const auto* text = std::get_if<std::string>(&row_.cells[column_]);
    return text != nullptr && *text == wanted;
  }

  std::unique_ptr<RowReader> rows_;
  std::string name_;
  size_t column_ = 0;
  Row row_;
  bool first_ = true, has_index_ = false;
};

Result<double> number_of(std::string_view text, const Column& column) {
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

class Scorer {
 public:
  explicit Scorer(const ScoreSettings& s) : settings_(s) {}

  Status open() {
    MetricOptions options;
    options.keep_examples = settings_.bootstrap_samples > 0;
    options.average = settings_.f1_average;
    options.positive_label = labels_.number(settings_.pos_label);
    options.use_stemmer = settings_.use_stemmer;
    const auto tokenizers = bleu_tokenizer_names();
    options.bleu_tokenizer = static_cast<BleuTokenizer>(
        std::find(tokenizers.begin(), tokenizers.end(), settings_.tokenize) - tokenizers.begin());
    options.chrf_word_order = static_cast<int>(settings_.chrf_word_order);
    if (settings_.sentence_split == "nltk") {
      splitter_ =
          HONE_TRY(SentenceSplitter::load(HONE_TRY(find_punkt_folder(settings_.nltk_data))));
      options.sentences = &*splitter_;
    }
    std::vector<std::string> names = glue_metrics(settings_.task_name);
    names.insert(names.end(), settings_.metric.begin(), settings_.metric.end());
    if (names.empty())
      return Error(err::kMissingArgument, "no metric is named")
          .todo(
              "name some with --metric, such as --metric rouge bleu, or a GLUE task with "
              "--task_name");
    for (const std::string& name : names) {
      const MetricType type = HONE_TRY(find_metric(name));
      inputs_.push_back(type.input);
      labels_words_ = labels_words_ || type.input == MetricInput::kTags;
      metrics_.emplace_back(type.name, type.make(options));
    }
    return Ok{};
  }

  Status read() {
    Column predictions =
        HONE_TRY(Column::open(settings_.predictions, settings_.predictions_column));
    std::vector<Column> references;
    for (const std::string& file : settings_.references)
      references.push_back(HONE_TRY(Column::open(file, settings_.references_column)));
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
        const std::string &mine = settings_.predictions, &other = settings_.references[k];
        return more ? no_pair(other, mine, rows_) : no_pair(mine, other, rows_);
      }
      if (!more) return Ok{};
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
    OrderedJson out, details, intervals;
    out["examples"] = rows_;
    double sum = 0;
    int64_t values = 0;
    for (const auto& [name, metric] : metrics_) {
      for (const MetricValue& v : HONE_TRY(metric->values())) {
        out[v.name] = v.value;
        sum += v.value;
        ++values;
      }
      if (OrderedJson more = metric->details(); !more.is_null()) details[name] = std::move(more);
      if (settings_.bootstrap_samples == 0) continue;
      for (const Interval& i :
           HONE_TRY(bootstrap(*metric, {.samples = settings_.bootstrap_samples,
                                       .seed = static_cast<uint64_t>(settings_.seed),
                                       .confidence = settings_.confidence})))
        intervals[i.name] = {i.low, i.high};
    }
    // run_glue's mean of several.
    if (!settings_.task_name.empty() && values > 1)
      out["combined_score"] = sum / static_cast<double>(values);
    if (!details.is_null()) out["details"] = details;
    if (!intervals.is_null())
      out["bootstrap"] = {{"samples", settings_.bootstrap_samples},
                          {"seed", settings_.seed},
                          {"confidence", settings_.confidence},
                          {"intervals", intervals}};
    return out;
  }

 private:
  Status add(const std::string& prediction, const std::vector<std::string>& references,
             const Column& predictions, const Column& first_reference) {
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
        metric.add_label(labels_.number(strip(prediction)), labels_.number(strip(references[0])));
      } else {
        const double predicted = HONE_TRY(number_of(prediction, predictions));
        metric.add_number(predicted, HONE_TRY(number_of(references[0], first_reference)));
      }
    }
    return Ok{};
  }

  const ScoreSettings& settings_;
  std::optional<SentenceSplitter> splitter_;
  Interner labels_;
  std::vector<MetricInput> inputs_;
  bool labels_words_ = false;  // some metric compares the labels of words
  std::vector<std::pair<std::string, std::unique_ptr<Metric>>> metrics_;
  std::vector<std::string_view> views_;
  int64_t rows_ = 0;
};

// A line for each value, with its interval.
std::string table(const OrderedJson& results) {
  std::string text;
  for (const auto& [name, value] : results.items()) {
    if (!value.is_number()) continue;
    text +=
        fmt::format("{:<22}{}", name,
                    value.is_number_integer() ? value.dump() : double_text(value.get<double>()));
    if (results.contains("bootstrap") && results["bootstrap"]["intervals"].contains(name)) {
      const OrderedJson& interval = results["bootstrap"]["intervals"][name];
      text += fmt::format("  [{}, {}]", double_text(interval[0].get<double>()),
                          double_text(interval[1].get<double>()));
    }
    text += '\n';
  }
  if (results.contains("details")) {
    for (const auto& [name, more] : results["details"].items()) {
      if (more.contains("signature"))
        text += fmt::format("{:<22}{}\n", name, more["signature"].get<std::string>());
      else  // by type of what is counted
        for (const auto& [type, values] : more.items())
          text += fmt::format("{:<22}{}\n", type, dump_json(values));
    }
  }
  return text;
}

Result<int> run_score(const std::vector<std::string>& args) {
  ScoreSettings s;
  Schema schema("hone score", "compare a file of predictions with references");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  Scorer scorer(s);
  HONE_TRY(scorer.open());
  HONE_TRY(scorer.read());
  const OrderedJson results = HONE_TRY(scorer.results());
  print_out(s.json ? dump_json(results) + "\n" : table(results));
  return kExitDone;
}

}  // namespace

Command command_score() {
  return {.name = "score",
          .summary = "compare a file of predictions with references",
          .run = run_score};
}

}  // namespace hone
