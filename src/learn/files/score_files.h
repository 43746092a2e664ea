// Metrics of a file of predictions against files of references, row by row. Memory holds one row
// and the state of the metrics.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/metrics/bootstrap.h"
#include "learn/metrics/metric.h"

namespace hone {

struct ScoreOptions {
  std::string predictions = "", predictions_column = "";  // a file; "": text, else the first
  std::vector<std::string> references = {};  // files; each gives a reference for each prediction
  // "": text, else the first; if all metrics compare labels or numbers, the first of kClassColumns before these.
  // Metrics of labels and of texts together need a name if the columns may differ (H2604).
  std::string references_column = "";

  std::vector<std::string> metrics = {};  // names
  bool mean = false;  // adds the mean of several values, combined_score in run_glue
  // score_files() sets keep_examples, positive_label and sentences.
  MetricOptions how = {};
  std::string positive_label = "1";
  // Folder of NLTK's punkt_tab data, "" for nltk's folders; none: lines are sentences.
  std::optional<std::string> nltk_data = {};
  BootstrapOptions bootstrap = {.samples = 0};  // 0: no intervals
};

// {"examples": rows, "<metric>": value, ..., "scale": {"<metric>": 1 or 100, ...}, "details": {...},
// "bootstrap": {"intervals": ...}}. Values equal those of the metrics' packages; "scale" has the
// value of a perfect score. Logs the compared columns of files with several, and warns if no label of
// the references is among the predictions.
// Errors: H2601 to H2605, and those of data files.
Result<OrderedJson> score_files(const ScoreOptions& options);

}  // namespace hone
