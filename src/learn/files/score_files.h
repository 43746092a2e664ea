// Computes metrics of a file of predictions against files of references, row by row. Holds one row and the state of the
// metrics in memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/metrics/bootstrap.h"
#include "learn/metrics/metric.h"

namespace hone {

struct ScoreOptions {
  // The file of predictions, and its column; "": the column `text`, else the first column.
  std::string predictions = "", predictions_column = "";
  std::vector<std::string> references = {};  // files; each has one row for each prediction
  // The column of the references. "": if all metrics compare labels or numbers, the first of kClassColumns (columns.h)
  // that the file has; else the column `text`; else the first column. If some metrics compare labels and others texts,
  // and these rules give different columns for labels and for texts, you must name the column (H2604).
  std::string references_column = "";

  std::vector<std::string> metrics = {};  // the names of the metrics
  bool mean = false;  // adds "combined_score", the mean of the metrics, as run_glue does
  // Further options of the metrics. score_files() sets keep_examples, positive_label and sentences.
  MetricOptions how = {};
  std::string positive_label = "1";  // the positive class of binary F1
  // For metrics that compare sentences: a folder with NLTK's punkt_tab data, which splits texts into sentences. "": the
  // data is searched in NLTK's own folders. Unset: each line is a sentence.
  std::optional<std::string> nltk_data = {};
  BootstrapOptions bootstrap = {.samples = 0};  // 0 samples: no confidence intervals
};

// Computes the metrics and returns
//
//   {"examples": <rows>, "<metric>": <value>, ..., "scale": {"<metric>": 1 or 100, ...}, "details": {...},
//    "bootstrap": {"intervals": ...}}
//
// The values equal those of the usual Python packages. "scale" has for each metric the value of a perfect score. Logs
// which columns are compared, if a file has several. Warns if the predictions contain none of the labels of the
// references.
// Errors: H2601 an unknown metric; H2602 binary F1 without its two classes; H2603 the data of the sentence splitter
// cannot be read; H2604 the rows of predictions and references do not correspond; H2605 a metric of numbers gets text;
// those of data files.
Result<OrderedJson> score_files(const ScoreOptions& options);

}  // namespace hone
