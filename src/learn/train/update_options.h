// The optimizer of a run and what its update program depends on.
#pragma once

#include <string>

#include "engine/graph/graph.h"
#include "learn/train/optimizers/optimizer.h"
#include "learn/train/settings.h"

namespace hone {

struct UpdateOptions {
  std::string optimizer = "adamw_torch";  // a name of the shelf (optimizers/optimizer.h)
  Attrs attrs = {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.0}};
  double max_grad_norm = 1;          // 0: no clipping
  bool scaled = false;               // the loss has a scale
  bool all_or_nothing = false;       // a gradient that is not finite keeps all states as they are
  uint64_t seed = 42;                // of the rule's random numbers, and of rounding
  bool stochastic_rounding = false;  // of weights in bf16
  double ema_decay = 0;              // of the averages of weights (kAverageState); 0: none
  // Running statistics in f32, which forward passes move: averaged too.
  std::vector<std::pair<std::string, Shape>> statistics = {};
  double loraplus_lr_ratio = 1;  // LoRA+'s: times the rate of some weights (rate_factor)
  int64_t group_bytes = int64_t{64} << 20;
  DType gradients = DType::f32;  // type of gradients that are states (differentiate)
  Share share = {};              // this process among those that train the weights together
  // And among those that divide products: each weight, or a part, is on all of them.
  Share tensor = {};
  // The group of `share` among the groups that have the same states and rows of their own (MiCS, arXiv 2205.00119).
  Share replica = {};
  int stage = 0;  // of ZeRO, 0 to 3: shared_update.h
  // Sums whose order no number of ranks changes: micro-batches are units of fixed rows, unit k of a
  // step on rank k mod ranks. Stage 2 or 3, also with one rank.
  bool split_invariant = false;
  int64_t units = 1;   // of a step, at most
  int64_t copies = 1;  // ranks of `share`, one after another, that compute the same units
  int64_t units_per_rank() const {
    const int64_t at_once = world().ranks / copies;
    return (units + at_once - 1) / at_once;
  }
  // The ranks that have all states once.
  Share owners() const {
    return {share.rank * tensor.ranks + tensor.rank, share.ranks * tensor.ranks};
  }
  // All ranks of the run.
  Share world() const {
    return {replica.rank * owners().ranks + owners().rank, replica.ranks * owners().ranks};
  }
  bool is_shared() const { return split_invariant || !world().alone(); }
};

// A value of --optim that the schema has accepted; any other is a Bug.
const Optimizer& optimizer_named(const std::string& name);
// The optimizer of --optim or --adafactor.
const Optimizer& optimizer_of(const TrainSettings& s);
// --optim, --optim_args and related settings, with the meaning of Transformers' Trainer. Errors:
// H2409 an argument that the optimizer does not take.
Result<UpdateOptions> update_options(const TrainSettings& s);

}  // namespace hone
