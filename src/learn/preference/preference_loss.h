// Losses over pairs of a chosen and a rejected answer, for preference tasks such as DPO (Rafailov et al. 2023, arXiv
// 2305.18290). --loss_type chooses a loss by name. To add one, add a file to this folder, such as sigmoid.cc:
//
//   PreferenceLoss preference_loss_sigmoid() {
//     return {.name = "sigmoid", .of_pairs = [](const PreferencePairs& p) { return ...; }};
//   }
//
// The policy is the model that is trained; the reference is the model that it is compared with. The log-probability of
// an answer is the sum over its tokens. The log-ratio of an answer is its log-probability under the policy minus that
// under the reference. Names and formulas are those of TRL 1.16's DPOTrainer.
#pragma once

#include <string>
#include <vector>

#include "engine/ops/ops.h"

namespace hone {

// The values of the settings of these names.
struct PreferenceOptions {
  double beta = 0.1;
  double label_smoothing = 0;
  double discopop_tau = 0.05;
  std::string divergence = "reverse_kl";  // a name of divergence_names()
  double alpha = 0.5;                     // parameter of the divergence alpha_divergence
};

// The inputs of a loss, with a builder for its formula. All values are f32[S], one number for each of the S pairs of a
// micro-batch.
struct PreferencePairs {
  Builder& b;
  const PreferenceOptions& o;
  ValueId chosen = kNoValue, rejected = kNoValue;  // log-ratios of the answers
  // divergence_score() of the log-ratios; for reverse_kl the log-ratios themselves.
  ValueId chosen_score = kNoValue, rejected_score = kNoValue;
  // Tokens of the answers, at least 1.
  ValueId chosen_tokens = kNoValue, rejected_tokens = kNoValue;
  ValueId chosen_logps = kNoValue;  // log-probabilities of the chosen answers under the policy
  // Under the policy: log-probability of the chosen minus the rejected answer.
  ValueId policy_margin = kNoValue;
  // The margins under the reference, reordered: the pair with the k-th smallest policy_margin of the batch has the k-th
  // smallest margin under the reference. kNoValue unless PreferenceLoss::sorts.
  ValueId ranked_margin = kNoValue;
  ValueId per_token = kNoValue;  // rows of the batch / tokens of its chosen answers

  ValueId times(ValueId x, double by) const;  // x * by
  ValueId plus(ValueId x, double by) const;   // x + by
  ValueId times_beta(ValueId x) const { return times(x, o.beta); }
  ValueId delta() const { return ops::sub(b, chosen_score, rejected_score); }
  // chosen_score / chosen_tokens - rejected_score / rejected_tokens.
  ValueId delta_per_token() const;
  ValueId square(ValueId x) const { return ops::mul(b, x, x); }
  // log(1 / (1 + exp(-x))). Its gradient is finite for every x.
  ValueId log_sigmoid(ValueId x) const;
  ValueId sigmoid(ValueId x) const { return ops::exp(b, log_sigmoid(x)); }
  // -(1 - e) log_sigmoid(x) - e log_sigmoid(-x), with e = o.label_smoothing.
  ValueId smoothed(ValueId x) const;
};

struct PreferenceLoss {
  std::string name;  // value of --loss_type
  // Adds the loss of each pair, f32[S], to the program.
  ValueId (*of_pairs)(const PreferencePairs& p) = nullptr;
  // The loss uses the scores; false: it needs the divergence reverse_kl.
  bool any_divergence = false;
  bool sorts = false;  // the loss needs ranked_margin
  // The loss needs a label_smoothing of at least least_smoothing and below below_smoothing. below_smoothing 0: any
  // value.
  double least_smoothing = 0, below_smoothing = 0;
};

std::vector<PreferenceLoss>
all_preference_loss();  // all losses; generated from the files of this folder
// The loss of this name. An unknown name is a Bug: the schema must have refused it.
const PreferenceLoss& find_preference_loss(const std::string& name);
std::vector<std::string> preference_loss_names();

// The score of the log-ratio x: the derivative of the function f of the divergence between policy and reference that
// o.divergence names, at exp(x) (f-DPO, arXiv 2309.16240). For reverse_kl it is x, up to a constant.
ValueId divergence_score(Builder& b, const PreferenceOptions& o, ValueId x);
std::vector<std::string> divergence_names();

}  // namespace hone
