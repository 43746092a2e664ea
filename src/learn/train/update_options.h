// The options of the update program (update.h): the optimizer, its arguments, and the ranks that share the update.
#pragma once

#include <string>

#include "engine/graph/graph.h"
#include "learn/train/optimizers/optimizer.h"
#include "learn/train/settings.h"

namespace hone {

struct UpdateOptions {
  std::string optimizer = "adamw_torch";  // a name from Optimizer::names (optimizers/optimizer.h)
  Attrs attrs = {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"weight_decay", 0.0}};
  double max_grad_norm = 1;  // largest norm of all gradients; 0: no clipping
  bool scaled = false;       // true: the program has the input loss_scale
  // True: if any gradient is not finite, no state changes. False: without clipping, only the groups of weights whose
  // gradients are not finite keep their states.
  bool all_or_nothing = false;
  uint64_t seed = 42;                // seed of the rule's random numbers and of stochastic rounding
  bool stochastic_rounding = false;  // true: weights in bf16 are rounded stochastically
  double ema_decay = 0;  // decay of the weights' averages (kAverageState); 0: no averages
  // Names and shapes of the model's running statistics in f32, which forward passes change. With ema_decay they have
  // averages too.
  std::vector<std::pair<std::string, Shape>> statistics = {};
  double loraplus_lr_ratio = 1;  // LoRA+: factor of the learning rate of some weights (rate_factor)
  int64_t group_bytes = int64_t{64} << 20;  // largest size of a group of weights (WeightGroup)
  DType gradients = DType::f32;             // type of gradients that are states (differentiate)
  Share share = {};                         // this rank among those that divide the states (ZeRO)
  // This rank among those that divide matrix products (the axis `tensor` of the mesh). A weight is divided among these
  // ranks, or each of them has all of it.
  Share tensor = {};
  // If the ranks form groups and each group has all states (MiCS, arXiv 2205.00119): this rank's group among the
  // groups. `share` is then this rank's place in its group. Different groups have different rows.
  Share replica = {};
  int stage = 0;  // ZeRO stage, 0 to 3: see shared_update.h
  // True (--split_invariant): the order of sums does not depend on the number of ranks. A step's rows are divided into
  // units. With n sets of ranks (see copies), set k mod n computes unit k. Needs stage 2 or 3, even with one rank.
  bool split_invariant = false;
  int64_t units = 1;   // with split_invariant: the largest number of units of a step
  int64_t copies = 1;  // number of consecutive ranks that compute the same units: a set
  // The largest number of units of a rank in a step, which is the number of rounds.
  int64_t units_per_rank() const {
    const int64_t at_once = world().ranks / copies;
    return (units + at_once - 1) / at_once;
  }
  // This rank among the ranks that together have all states once: `share` times `tensor`.
  Share owners() const {
    return {share.rank * tensor.ranks + tensor.rank, share.ranks * tensor.ranks};
  }
  // This rank among all ranks of the run.
  Share world() const {
    return {replica.rank * owners().ranks + owners().rank, replica.ranks * owners().ranks};
  }
  // Whether the program has the inputs and outputs for several ranks.
  bool is_shared() const { return split_invariant || !world().alone(); }
};

// The optimizer of this name, a value of --optim. An unknown name is a Bug: the schema must have refused it.
const Optimizer& optimizer_named(const std::string& name);
// The optimizer of --optim; with --adafactor, Adafactor.
const Optimizer& optimizer_of(const TrainSettings& s);
// The options from --optim, --optim_args and related settings, which mean the same as in Transformers' Trainer. Leaves
// `statistics`, `gradients` and the members about ranks and units at their defaults. Errors: H2409 an argument is
// unknown or has a wrong value, or a setting does not fit the optimizer.
Result<UpdateOptions> update_options(const TrainSettings& s);

}  // namespace hone
