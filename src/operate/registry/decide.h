// The decision to deploy: is a version better than the deployed one, on the same rows?
#pragma once

#include "operate/registry/evaluation.h"
#include "operate/registry/policy.h"
#include "operate/registry/registry.h"

namespace hone {

// A paired bootstrap: each sample draws as many rows as exist, with replacement, the same for both;
// the interval holds the middle of the differences (learn/metrics/bootstrap.h).
struct PairedComparison {
  int64_t rows = 0;
  double version = 0, against = 0;     // values of the metric on these rows
  double gain = 0, low = 0, high = 0;  // improvement of the version; negative: a loss
  OrderedJson json() const;
};

// Compares rows in the same order. Metrics: the mean of a score that each row has; loss and
// perplexity from nll and tokens; bleu, chrf, and f1, precision and recall of entities from the
// texts. H3144 for any other.
Result<PairedComparison> compare_rows(const std::vector<const EvaluatedRow*>& version,
                                      const std::vector<const EvaluatedRow*>& against,
                                      const DecisionPolicy& policy);

// The metric of a version by itself: from its evaluation, else from its metrics. H3144.
Result<double> metric_of(const ModelVersion& version, const Evaluation* evaluation,
                         const std::string& metric);

// H3144: decide() would refuse the names of the policy, its metric and slices. Call this before more is evaluated:
// `compares` with another version, on the rows of this evaluation.
Status check_names(const ModelVersion& version, const Evaluation* evaluation, bool compares,
                   const DecisionPolicy& policy);

// "" if both have the same rows, else their numbers and data. Counts the common rows only if ids are equal: without one,
// two versions of a file may still hold the same rows.
std::string differing_rows(const Evaluation& version, const Evaluation& against);

struct ParityCheck {
  bool passed = true;
  std::string reason;    // of a failure
  OrderedJson evidence;  // rows, largest difference, rows with the same prediction
};
// Compares new results of the registered folder with its recorded evaluation, row by row.
ParityCheck check_parity(const Evaluation& recorded, const Evaluation& now,
                         const DecisionPolicy& policy);

// The facts for a decision. Null: unknown.
struct DecisionInput {
  const ModelVersion& version;
  const Evaluation* evaluation = nullptr;
  const ModelVersion* against = nullptr;  // that the alias names
  const Evaluation* against_evaluation = nullptr;
  std::optional<ParityCheck> parity = {};
  std::string alias = kChampion;
  // Ends the reason of a comparison: why it may favour one of the two.
  std::string caution = {};
};
// Returns verdict, reason and evidence without recording them. Without a version of the alias, or
// for that version itself: promote if the floor is met and parity holds. With one: promote if the whole interval of the gain is
// above minimum_gain and no slice loses more than allowed; refuse if the whole interval is at or
// below it, or a slice of ten rows or more certainly loses more; else hold. H3144.
Result<Decision> decide(const DecisionInput& input, const DecisionPolicy& policy);

// A line for each slice of a decision's evidence that the version makes worse, the largest loss first; the last may
// count further ones.
std::vector<std::string> worse_slices(const OrderedJson& evidence);

}  // namespace hone
