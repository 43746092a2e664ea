// A loss over pairs of a chosen and a rejected answer that --loss_type names. Each is one file of this
// shelf:
//
//   PreferenceLoss preference_loss_sigmoid() {
//     return {.name = "sigmoid", .of_pairs = [](const PreferencePairs& p) { return ...; }};
//   }
//
// Log-probabilities are sums over the tokens of an answer; a log-ratio is that of the policy, the model
// that is trained, minus that of the reference. Names and formulas are those of TRL 1.16's DPOTrainer.
#pragma once

#include <string>
#include <vector>

#include "engine/ops/ops.h"

namespace hone {

struct PreferenceOptions {
  double beta = 0.1;
  double label_smoothing = 0;
  double discopop_tau = 0.05;
  std::string divergence = "reverse_kl";
  double alpha = 0.5;  // of alpha_divergence
};

// One value for each pair of a micro-batch: f32[S].
struct PreferencePairs {
  Builder& b;
  const PreferenceOptions& o;
  ValueId chosen = kNoValue, rejected = kNoValue;  // log-ratios
  // Scores of the divergence; the log-ratios themselves for reverse_kl.
  ValueId chosen_score = kNoValue, rejected_score = kNoValue;
  ValueId chosen_tokens = kNoValue, rejected_tokens = kNoValue;  // of the answers, at least 1
  ValueId chosen_logps = kNoValue;                               // of the policy
  ValueId policy_margin = kNoValue;  // its chosen minus its rejected log-probability
  // The reference's margin of the same rank in the batch, both sorted. kNoValue unless the loss sorts.
  ValueId ranked_margin = kNoValue;
  ValueId per_token = kNoValue;  // rows of the batch / tokens of its chosen answers

  // x op a constant.
  ValueId times(ValueId x, double by) const;
  ValueId plus(ValueId x, double by) const;
  ValueId times_beta(ValueId x) const { return times(x, o.beta); }
  ValueId delta() const { return ops::sub(b, chosen_score, rejected_score); }
  // The difference of the scores of a token of each answer.
  ValueId delta_per_token() const;
  ValueId square(ValueId x) const { return ops::mul(b, x, x); }
  // log(1 / (1 + exp(-x))), and its exponential; finite gradients for every x.
  ValueId log_sigmoid(ValueId x) const;
  ValueId sigmoid(ValueId x) const { return ops::exp(b, log_sigmoid(x)); }
  // -log_sigmoid(x) (1 - e) - log_sigmoid(-x) e with the label smoothing e.
  ValueId smoothed(ValueId x) const;
};

struct PreferenceLoss {
  std::string name;                                         // value of --loss_type
  ValueId (*of_pairs)(const PreferencePairs& p) = nullptr;  // -> f32[S]
  bool any_divergence = false;  // divergences besides reverse_kl have a meaning
  bool sorts = false;           // needs ranked_margin
  // The smoothing that the loss needs: [least, below), or any if `below` is 0.
  double least_smoothing = 0, below_smoothing = 0;
};

std::vector<PreferenceLoss> all_preference_loss();  // generated from the folder
// The loss of that name, which the shelf has.
const PreferenceLoss& find_preference_loss(const std::string& name);
std::vector<std::string> preference_loss_names();

// The score of a log-ratio x under the options' divergence between policy and reference (f-DPO, arXiv
// 2309.16240).
ValueId divergence_score(Builder& b, const PreferenceOptions& o, ValueId x);
std::vector<std::string> divergence_names();

}  // namespace hone
