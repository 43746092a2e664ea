// Losses over pairs of a chosen and a rejected answer, for preference tasks such as DPO (Rafailov et al. 2023, arXiv
// 2305.18290). --loss_type chooses a loss by name. To add one, add a file to this folder, such as sigmoid.cc:
//
//   PreferenceLoss preference_loss_sigmoid() {
//     return {.name = "sigmoid", .of_pairs = [](const PreferencePairs& p) { return ...; }};
//   }
//
// The policy is the model that is trained; the reference is the model that it is compared with. The log-probability of
// an answer is the sum of the log-probabilities of its tokens. The log-ratio of an answer is its log-probability under
// the policy minus its log-probability under the reference. Names and formulas are those of TRL 1.16's DPOTrainer.
#pragma once

#include <string>
#include <vector>

#include "engine/ops/ops.h"

namespace hone {

// The values of TRL's settings.
struct PreferenceOptions {
  double beta = 0.1;                      // --beta, above 0
  double label_smoothing = 0;             // --label_smoothing
  double discopop_tau = 0.05;             // --discopop_tau
  std::string divergence = "reverse_kl";  // --f_divergence_type, a name of divergence_names()
  // --f_alpha_divergence_coef; has an effect only with the divergence "alpha_divergence".
  double alpha = 0.5;
};

// The inputs of a loss, with a builder for its formula. All values are f32[S], one number for each of the S pairs of a
// micro-batch.
struct PreferencePairs {
  Builder& b;
  const PreferenceOptions& o;
  ValueId chosen = kNoValue, rejected = kNoValue;  // log-ratios of the answers
  // divergence_score() of the log-ratios. With the divergence reverse_kl they are the log-ratios themselves.
  ValueId chosen_score = kNoValue, rejected_score = kNoValue;
  // Number of tokens of each answer, at least 1.
  ValueId chosen_tokens = kNoValue, rejected_tokens = kNoValue;
  ValueId chosen_logps = kNoValue;  // log-probabilities of the chosen answers under the policy
  // A pair's margin under a model: log-probability of its chosen answer minus that of its rejected answer.
  ValueId policy_margin = kNoValue;  // margins under the policy
  // Margins under the reference, reordered within each batch (per_device_train_batch_size or
  // per_device_eval_batch_size pairs): the pair with the k-th smallest policy_margin of its batch gets the k-th
  // smallest margin under the reference in that batch. kNoValue if no loss of the run has PreferenceLoss::sorts.
  ValueId ranked_margin = kNoValue;
  // A factor that is the same for all pairs of a batch: number of pairs of the batch / number of tokens of all their
  // chosen answers. The mean of x * per_token over a batch is then the sum of x divided by the number of these tokens.
  ValueId per_token = kNoValue;

  ValueId times(ValueId x, double by) const;  // x * by
  ValueId plus(ValueId x, double by) const;   // x + by
  ValueId times_beta(ValueId x) const { return times(x, o.beta); }
  // chosen_score - rejected_score.
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
  // True: the loss works with every divergence, because it reads chosen_score and rejected_score. False: it works only
  // with reverse_kl.
  bool any_divergence = false;
  bool sorts = false;  // true: the loss reads ranked_margin
  // The values of label_smoothing that the loss accepts: least_smoothing <= label_smoothing < below_smoothing. If
  // below_smoothing is 0, there is no upper limit.
  double least_smoothing = 0, below_smoothing = 0;
};

std::vector<PreferenceLoss>
all_preference_loss();  // all losses; generated from the files of this folder
// The loss of this name. An unknown name is a Bug: the schema must have refused it.
const PreferenceLoss& find_preference_loss(const std::string& name);
std::vector<std::string> preference_loss_names();

// The score of each log-ratio in x: f'(exp(x)). Here f is the function that defines the f-divergence o.divergence
// between policy and reference, and f' its derivative (f-DPO, arXiv 2309.16240). With t = exp(x):
//   reverse_kl         log(t), which is x
//   forward_kl         1 - 1 / t
//   js_divergence      log(2t / (t + 1))
//   alpha_divergence   (t^(alpha - 1) - 1) / (alpha - 1); x if alpha is 1
// For reverse_kl, f' is log(t) + 1; the constant 1 is left out, because it cancels in delta().
ValueId divergence_score(Builder& b, const PreferenceOptions& o, ValueId x);
std::vector<std::string> divergence_names();  // the four names above

}  // namespace hone
