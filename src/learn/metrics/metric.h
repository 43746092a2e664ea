// Metrics compare predictions with references. This is their interface, and the list of all metrics.
//
// A metric is one file of this folder: x.cc defines `MetricType metric_x()`, and the build adds it to the list by its
// file name. Pairs of prediction and reference are added one at a time. A metric keeps sums, not the pairs, unless the
// first comment of its file says otherwise. With MetricOptions::keep_examples it also keeps a few counts of each
// example, so that values can be computed for any selection of the examples (bootstrap.h).
//
//   auto f1 = HONE_TRY(make_metric("f1", {.average = "macro"}));
//   f1->add_label(predicted_class, true_class);
//   for (const MetricValue& v : HONE_TRY(f1->values())) use(v.name, v.value);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"
#include "learn/metrics/bleu_tokens.h"

namespace hone {

class SentenceSplitter;  // sentences.h

// The kind of a metric's predictions and references, and the function that adds them:
//   kLabel   class numbers              add_label()
//   kNumber  real numbers               add_number()
//   kText    texts                      add_text()
//   kTags    labels, joined by spaces   add_text(), with one reference that has the same number of labels
enum class MetricInput { kLabel, kNumber, kText, kTags };

struct MetricOptions {
  bool keep_examples = false;  // needed for Metric::values_of()

  std::string average = "binary";  // for f1: "binary", "macro", "micro" or "weighted"
  int64_t positive_label = 1;      // for the binary f1

  bool use_stemmer = true;  // for rouge
  // For rouge: splits texts into sentences; must outlive the metric. Null: each line is a sentence.
  const SentenceSplitter* sentences = nullptr;

  BleuTokenizer bleu_tokenizer = BleuTokenizer::k13a;
  int chrf_word_order = 0;  // for chrF: word n-grams up to this length; 2 is chrF++
};

struct MetricValue {
  std::string name;
  double value = 0;
};
using MetricValues = std::vector<MetricValue>;

class Metric {
 public:
  virtual ~Metric() = default;
  // Adds one example. Each metric accepts only the function for its MetricInput; a call of another one is a Bug.
  virtual void add_label(int64_t prediction, int64_t reference);
  virtual void add_number(double prediction, double reference);
  // There must be at least one reference. The views are not kept.
  virtual void add_text(std::string_view prediction, std::span<const std::string_view> references);

  virtual int64_t examples() const = 0;  // the number of examples added
  // The metric's values over all examples; NaN if a value is not defined. H2602: f1 with the average "binary" has more
  // than two classes, or two classes of which neither is positive_label. H2604: a prediction of kTags and its reference
  // have different numbers of labels, or a prediction has several references.
  virtual Result<MetricValues> values() const = 0;
  // The values if example i had been added times[i] times. Needs keep_examples.
  virtual Result<MetricValues> values_of(std::span<const int32_t> times) const = 0;
  // Further values for a report, such as the signature or BLEU's precisions; null: none.
  virtual OrderedJson details() const { return nullptr; }
};

struct MetricType {
  std::string name;
  std::string about;  // one line for --help
  MetricInput input;
  std::vector<std::string> aliases = {};
  std::unique_ptr<Metric> (*make)(const MetricOptions&) = nullptr;
  int64_t scale = 1;  // the value of a perfect score, 1 or 100
};
std::vector<MetricType> all_metric();  // one for each metric's file in this folder; generated
// The names of all metrics for help: "accuracy, f1 (labels), pearson (numbers), rouge (text)".
std::string metric_names();

// Finds a metric by name or alias. H2601: no metric has the name; the message proposes the nearest name.
Result<MetricType> find_metric(const std::string& name);
Result<std::unique_ptr<Metric>> make_metric(const std::string& name,
                                            const MetricOptions& options = {});
// The names of the values of a metric of kText or kTags: "rouge1", "rouge2", ... Any other name is a Bug.
std::vector<std::string> text_metric_values(const std::string& name);

// The metrics of a GLUE task, those of `glue` in Hugging Face's evaluate library. `task`: mnli, mnli_matched,
// mnli_mismatched, qnli, rte, wnli, hans, sst2, cola, stsb, mrpc or qqp; empty for any other name.
std::vector<std::string> glue_metrics(const std::string& task);
std::vector<std::string> glue_metric_choices();  // "" (none), then the names of these tasks

}  // namespace hone
