// Plans a rank of a run on several equal devices from the programs that it would run, compiled for
// this rank without weights. The last rank is planned: no rank has more rows of a tensor.
//
// A layout that hone train does not run is compared too, marked by_formula():
//   tensor       t ranks of a machine divide each product, and all else by rows of tokens, to compare it with others; a
//                mesh that is asked for is planned by_programs, as hone train divides them. By formula the programs
//                are those of n / t ranks with t times the rows; memory, work and their traffic are
//                divided by t. Twice forward and twice backward in a layer, values of the width of
//                the residual stream are summed over the t ranks (M. Shoeybi et al., "Megatron-LM",
//                2019; V. Korthikanti et al., "Reducing Activation Recomputation", 2022)
//   pipeline     machines have the layers one after another, with tensor ranks in each. The programs are
//                those of n / (t p) ranks; states, work and traffic are divided by p too. A step takes
//                (m + p - 1) / m of the time of its m micro-batches; a rank keeps the activations of p
//                of them for its part of the layers, which are those of one for all layers
#pragma once

#include "learn/harness/budget/links.h"
#include "learn/harness/budget/placement.h"
#include "learn/harness/budget/plan_time.h"

namespace hone {

struct RankLayout {
  int stage = 0;      // of ZeRO
  int64_t group = 0;  // ranks that cut states (--mics_shard_size); 0: all
  int64_t tensor = 1, pipeline = 1;
  bool by_programs = false;  // the axis tensor divides the programs
  Placement how = {};
  int64_t rows = 0;  // of a micro-batch; 0: the most that fit

  bool by_formula() const { return divided() > 1 && !by_programs; }
  // Factors by which a formula divides what the programs say.
  int64_t tensor_by_formula() const { return by_programs ? 1 : tensor; }
  int64_t divided_by_formula() const { return tensor_by_formula() * pipeline; }
  int64_t divided() const { return tensor * pipeline; }  // ranks that have the same rows
  // "data=13,tensor=8", for all devices of the cluster.
  std::string mesh(const Cluster& cluster) const;
  // "data=104, ZeRO-3, gradient checkpointing".
  std::string text(const Cluster& cluster) const;
};

struct RankPlan {
  RankLayout layout;
  Fit fit;                  // its plan is that of the programs; rows 0: it does not fit
  Needs needs;              // of one rank, without its runtime
  int64_t code_bytes = 0;   // of needs.device: machine code of its programs on a TPU
  LinkTraffic sent;         // by one rank in a step; if data are read, in a mean step of them
  double tensor_bytes = 0;  // of these, to ranks of the axis tensor; by_programs alone
  double seconds = 0;       // of a step
  double alone = 0;         // of a step without any traffic
  double flops = 0;         // of one rank in a step
  double step_rows = 0;     // of all ranks; no more than the data have
  PlannedTime time = {};    // of the run; by formula it is not predicted
  std::string why;          // reason why it does not fit

  bool fits() const { return fit.rows > 0; }
  double efficiency() const { return seconds > 0 ? alone / seconds : 1; }
  double rows_per_second() const { return seconds > 0 ? step_rows / seconds : 0; }
};

struct RankSubject {
  const TaskModel& model;
  const Backend& backend;  // that chooses the kernels of one device
  Cluster cluster;
  Speeds speeds;  // of one device
  LinkSpeeds links;
  int64_t row_tokens = 0;
  int64_t stream_bytes = 0;
  Examples* data = nullptr;  // null: not read, so rows have the largest length
  bool is_here = false;      // the devices are this machine's
};

// The ranks that have rows of their own.
int64_t data_ranks(const Cluster& cluster, const RankLayout& layout);

// The task with the settings of one rank.
Task task_of_rank(const RankSubject& x, const RankLayout& layout);

Result<RankPlan> plan_rank(const RankSubject& x, const RankLayout& layout);
// The training programs of the largest shape that a rank of a plan that fits would run.
Result<std::vector<Program>> rank_programs(const RankSubject& x, const RankPlan& plan);

// Sums in a forward pass of the results of products and the values that pass by them: of each layer those
// of attention and of the feed-forward part. `bytes`: of all results.
struct ResidualSums {
  int64_t count = 0, bytes = 0;
};
ResidualSums residual_sums(const Program& forward);

}  // namespace hone
