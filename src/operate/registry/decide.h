// Decides whether to deploy a model version: whether it is better than the deployed version on the same evaluated rows.
#pragma once

#include "operate/registry/evaluation.h"
#include "operate/registry/policy.h"
#include "operate/registry/registry.h"

namespace hone {

// The result of a paired bootstrap over n rows. Each sample draws n rows with replacement, the same ones for both
// versions. [low, high] holds the middle share DecisionPolicy::confidence of the samples' gains
// (learn/metrics/bootstrap.h).
struct PairedComparison {
  int64_t rows = 0;
  double version = 0, against = 0;  // the metric of both versions on these rows
  // Improvement of `version`, in units of the metric; negative: it is worse.
  double gain = 0, low = 0, high = 0;
  OrderedJson json() const;
};

// Compares two versions by the policy's metric. Both lists have the same rows in the same order. The metric can be the
// mean of a score that each row has. Loss and perplexity are computed from the scores "nll" and "tokens". BLEU, chrF,
// and the f1, precision and recall of entities are computed from the texts (row_scores.h). Error H3144: the rows do not
// have the metric.
Result<PairedComparison> compare_rows(const std::vector<const EvaluatedRow*>& version,
                                      const std::vector<const EvaluatedRow*>& against,
                                      const DecisionPolicy& policy);

// The value of a metric for one version: computed from its evaluated rows, else from ModelVersion::metrics.
// `evaluation` may be null. Error H3144: neither has the metric.
Result<double> metric_of(const ModelVersion& version, const Evaluation* evaluation,
                         const std::string& metric);

// Checks the names of the policy's metric and slices, before other versions are evaluated. Pass `compares` = true if
// decide() will compare with another version on the rows of `evaluation`; then `evaluation` must not be null. Error
// H3144: decide() would fail because there is no such metric or slice.
Status check_names(const ModelVersion& version, const Evaluation* evaluation, bool compares,
                   const DecisionPolicy& policy);

// "" if both evaluations have the same row ids; else a text with the number of rows and the data of each evaluation. If
// some ids are in both, the text also has their number. If no id is in both, it has no such number: two versions of a
// data file share no ids, even if they hold the same rows.
std::string differing_rows(const Evaluation& version, const Evaluation& against);

struct ParityCheck {
  bool passed = true;
  std::string reason;    // why the check failed; "": it passed
  OrderedJson evidence;  // "rows", "largest_difference", "same_predictions", "dtype"
};
// Compares a new evaluation of the registered folder, `now`, with the recorded evaluation of the version, row by row,
// within the tolerances of the policy.
ParityCheck check_parity(const Evaluation& recorded, const Evaluation& now,
                         const DecisionPolicy& policy);

// The facts for a decision.
struct DecisionInput {
  const ModelVersion& version;             // the candidate
  const Evaluation* evaluation = nullptr;  // its evaluated rows; null: unknown
  // The version that the alias names now; null: the alias names none.
  const ModelVersion* against = nullptr;
  const Evaluation* against_evaluation = nullptr;  // its evaluated rows; null: unknown
  std::optional<ParityCheck> parity = {};          // nullopt: not checked
  std::string alias = kChampion;
  // A text to append to the reason of a verdict by comparison: why the comparison may favour one version; "": none.
  std::string caution = {};
};
// Returns the verdict with its reason and evidence; records nothing. A floor that is unset is met, and parity that was
// not checked holds. The verdict on `version`:
//   1. The alias names no version. Promote if the policy's floor is met and parity holds, else refuse.
//   2. The alias names `version` already. Promote if the policy has no floor; else decide as in 1.
//   3. The alias names another version. Refuse if the floor is not met or parity fails, if the whole interval of the
//      gain is at or below minimum_gain, or if the whole interval of the loss of a slice with at least ten rows is
//      above max_slice_loss. Promote if the whole interval of the gain is above minimum_gain and no slice loses more
//      than max_slice_loss. Else hold.
// In case 3 both evaluations must be given and have the same row ids. Error H3144: the metric or a slice is missing.
Result<Decision> decide(const DecisionInput& input, const DecisionPolicy& policy);

// One line for each slice of a decision's evidence in which the version is worse, the largest loss first. After five
// slices, a last line gives the number of the remaining ones.
std::vector<std::string> worse_slices(const OrderedJson& evidence);

}  // namespace hone
