// Plans one rank of a run on several equal devices, without weights: builds and plans the programs that the rank would
// run. The last rank is planned, because no other rank has more rows of a tensor.
//
// Some layouts that hone train does not run are predicted by a formula, for comparison (RankLayout::by_formula). n is
// the number of ranks.
//   tensor     t ranks of a machine divide each matrix product, and divide all other work by rows of tokens. The
//              formula takes the programs of a run on n / t ranks with t times the rows, and divides their memory,
//              work and traffic by t. It adds the time of the messages that sum values over the t ranks: two sums in
//              the forward pass of a layer and two in its backward pass, each of values as wide as the residual stream
//              (M. Shoeybi et al., "Megatron-LM", 2019; V. Korthikanti et al., "Reducing Activation Recomputation",
//              2022). If the user gives a mesh without a pipeline, the formula is not used: the programs are planned as
//              hone train divides them (RankLayout::by_programs).
//   pipeline   The layers are divided into p consecutive parts; each group of machines has one part, and the t devices
//              of a machine are tensor ranks. The formula takes the programs of a run on n / (t p) ranks, and divides
//              states, work and traffic by p too. The m micro-batches of a step take (m + p - 1) / m times as long. A
//              rank keeps the activations of p micro-batches for 1 / p of the layers, which is as much as those of one
//              micro-batch for all layers.
#pragma once

#include "learn/harness/budget/links.h"
#include "learn/harness/budget/placement.h"
#include "learn/harness/budget/plan_time.h"

namespace hone {

struct RankLayout {
  int stage = 0;  // ZeRO stage, 0 to 3
  // Ranks of a group that divides the states among its ranks (--mics_shard_size); 0: all ranks divide them.
  int64_t group = 0;
  int64_t tensor = 1, pipeline = 1;  // ranks on these axes of the mesh
  // True: the axis `tensor` is planned from divided programs, as hone train runs them. False: by formula.
  bool by_programs = false;
  Placement how = {};
  int64_t rows = 0;  // rows of a micro-batch; 0: the most that fit

  bool by_formula() const { return divided() > 1 && !by_programs; }
  // The number by which the formulas divide the memory and work of the programs. tensor_by_formula(): for the axis
  // `tensor` alone. divided_by_formula(): for both axes.
  int64_t tensor_by_formula() const { return by_programs ? 1 : tensor; }
  int64_t divided_by_formula() const { return tensor_by_formula() * pipeline; }
  int64_t divided() const { return tensor * pipeline; }  // number of ranks that have the same rows
  // The mesh of all devices of the cluster: "data=13,tensor=8".
  std::string mesh(const Cluster& cluster) const;
  // "data=104, ZeRO-3, --gradient_checkpointing".
  std::string text(const Cluster& cluster) const;
};

struct RankPlan {
  RankLayout layout;
  // The plan of the programs, before a formula divides it. fit.rows is 0 if it does not fit.
  Fit fit;
  Needs needs;  // memory of one rank, without its runtime
  // On a TPU: the bytes of needs.device that are machine code of the programs. Else 0.
  int64_t code_bytes = 0;
  // Bytes and messages that one rank sends in an optimizer step; if the data are read, the mean over steps.
  LinkTraffic sent;
  double tensor_bytes = 0;  // bytes of `sent` to ranks of the axis `tensor`; 0 unless by_programs
  double seconds = 0;       // seconds of an optimizer step
  double alone = 0;         // seconds of an optimizer step if messages took no time
  double flops = 0;         // floating-point operations of one rank in an optimizer step
  double step_rows = 0;     // rows of an optimizer step of all ranks, at most the rows of the data
  PlannedTime time = {};    // time of the run; not set if a formula is used
  std::string why;          // the reason why the run does not fit; "" if it fits

  bool fits() const { return fit.rows > 0; }
  // The share of a step that is not spent on messages, 0 to 1.
  double efficiency() const { return seconds > 0 ? alone / seconds : 1; }
  double rows_per_second() const { return seconds > 0 ? step_rows / seconds : 0; }
};

struct RankSubject {
  const TaskModel& model;
  const Backend& backend;  // chooses the kernels of one device
  Cluster cluster;
  Speeds speeds;             // speeds of one device
  LinkSpeeds links;          // speeds of its links
  int64_t row_tokens = 0;    // tokens of a row on the first axis, if the data are not read
  int64_t stream_bytes = 0;  // bytes of memory of a rank for --streaming; 0 without it
  Examples* data = nullptr;  // null: the data are not read, and every row has the largest length
  bool is_here = false;      // true: the devices are those of this machine
};

// The size of the mesh's axis `data` in this layout: the number of ranks that have different rows.
int64_t data_ranks(const Cluster& cluster, const RankLayout& layout);

// A copy of the task with the settings of the last rank in this layout.
Task task_of_rank(const RankSubject& x, const RankLayout& layout);

// Plans the last rank in this layout. A rank that does not fit is not an error: see RankPlan::fits. Errors: those of
// fit_run, plan_time and of the data.
Result<RankPlan> plan_rank(const RankSubject& x, const RankLayout& layout);
// The training programs of the largest shape, and the update, that the rank would run. `plan`: a plan that fits.
Result<std::vector<Program>> rank_programs(const RankSubject& x, const RankPlan& plan);

// The residual additions of a forward pass: additions of the form x + matrix product(...). A transformer layer has two,
// after attention and after the feed-forward part.
struct ResidualSums {
  int64_t count = 0, bytes = 0;  // count: number of additions; bytes: size of all their results
};
ResidualSums residual_sums(const Program& forward);

}  // namespace hone
