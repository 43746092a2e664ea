// A metric of predictions against references, and the shelf of metrics.
//
// A metric is one file of this folder: x.cc defines `MetricType metric_x()`, and the file name is
// its registration. Pairs are added one at a time; a metric keeps sums, or the values that its
// header comment names. With MetricOptions::keep_examples it also keeps a few counts of each
// example, to compute values for any selection of examples (bootstrap.h).
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

// The add_…() that a metric takes. kTags: a text of labels with spaces between them, and one
// reference with the same number of labels.
enum class MetricInput { kLabel, kNumber, kText, kTags };

struct MetricOptions {
  bool keep_examples = false;

  std::string average = "binary";  // f1: binary, macro, micro or weighted
  int64_t positive_label = 1;      // of the binary f1

  bool use_stemmer = true;                      // rouge
  const SentenceSplitter* sentences = nullptr;  // rouge, outlives the metric; null: lines

  BleuTokenizer bleu_tokenizer = BleuTokenizer::k13a;
  int chrf_word_order = 0;  // 2 is chrF++
};

struct MetricValue {
  std::string name;
  double value = 0;
};
using MetricValues = std::vector<MetricValue>;

class Metric {
 public:
  virtual ~Metric() = default;
  virtual void add_label(int64_t prediction, int64_t reference);
  virtual void add_number(double prediction, double reference);
  // At least one reference; views are not kept.
  virtual void add_text(std::string_view prediction, std::span<const std::string_view> references);

  virtual int64_t examples() const = 0;
  // NaN where a value is not defined. Errors: H2602.
  virtual Result<MetricValues> values() const = 0;
  // The values if example i had been added times[i] times; needs keep_examples.
  virtual Result<MetricValues> values_of(std::span<const int32_t> times) const = 0;
  // Further values for a report (signature, precisions ...), or null.
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
std::vector<MetricType> all_metric();  // generated from the folder
// "accuracy, f1 (labels), pearson (numbers), rouge (text)": the metrics of the shelf, for help.
std::string metric_names();

// By name or alias. Errors: H2601 with the nearest name.
Result<MetricType> find_metric(const std::string& name);
Result<std::unique_ptr<Metric>> make_metric(const std::string& name,
                                            const MetricOptions& options = {});
// The names of the values of a metric of texts or tags: "rouge1", "rouge2", ...; a Bug for another.
std::vector<std::string> text_metric_values(const std::string& name);

// The metrics of a GLUE task, as `glue` of Hugging Face's evaluate library computes them (mnli,
// mnli_matched, mnli_mismatched, qnli, rte, wnli, hans, sst2, cola, stsb, mrpc, qqp); empty for any
// other name.
std::vector<std::string> glue_metrics(const std::string& task);
std::vector<std::string> glue_metric_choices();  // the names of these tasks, after "": none

}  // namespace hone
