// The decision to deploy: is a version better than the one that is deployed, on the same rows?
#pragma once

#include "operate/registry/evaluation.h"
#include "operate/registry/policy.h"
#include "operate/registry/registry.h"

namespace hone {

// A paired comparison by the bootstrap: as many rows as there are, drawn with replacement, the same ones for
// both; the interval holds the middle of the differences (learn/metrics/bootstrap.h).
struct PairedComparison {
  int64_t rows = 0;
  double version = 0, against = 0;     // values of the metric on these rows
  double gain = 0, low = 0, high = 0;  // how much better the version is; negative: worse
  OrderedJson json() const;
};

// Rows of both in the same order. Metrics: scores that each row has, as their mean; loss and perplexity from
// nll and tokens; bleu, chrf, and f1, precision and recall of entities from the texts. H3144 another one.
Result<PairedComparison> compare_rows(const std::vector<const EvaluatedRow*>& version,
                                      const std::vector<const EvaluatedRow*>& against,
                                      const DecisionPolicy& policy);

// The metric of a version by itself: as its evaluation says, else as its metrics do. H3144.
Result<double> metric_of(const ModelVersion& version, const Evaluation* evaluation,
                         const std::string& metric);

// "" when both have the same rows, else which differ.
std::string differing_rows(const Evaluation& version, const Evaluation& against);

struct ParityCheck {
  bool passed = true;
  std::string reason;    // of a failure
  OrderedJson evidence;  // rows, largest difference, rows with the same prediction
};
// What the registered folder gives now, row by row, beside what its evaluation recorded.
ParityCheck check_parity(const Evaluation& recorded, const Evaluation& now,
                         const DecisionPolicy& policy);

// What is known for a decision. Null where it is not.
struct DecisionInput {
  const ModelVersion& version;
  const Evaluation* evaluation = nullptr;
  const ModelVersion* against = nullptr;  // deployed
  const Evaluation* against_evaluation = nullptr;
  std::optional<ParityCheck> parity = {};
};
// Verdict, reason and evidence; not recorded yet. Without a deployed version: promote if the floor is met and
// parity holds. With one: promote if the whole interval of the gain is above minimum_gain and no slice is
// worse than allowed, refuse if the whole interval is at or below it or a slice of ten rows or more certainly is
// worse, else hold. H3144.
Result<Decision> decide(const DecisionInput& input, const DecisionPolicy& policy);

}  // namespace hone
