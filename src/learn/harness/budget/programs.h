// Builds the programs of a run before any memory is allocated. Training, hone plan, graph, bench, check and the tracer
// all get their programs from here.
#pragma once

#include <deque>

#include "engine/device/backend.h"
#include "engine/passes/pipelines.h"
#include "learn/harness/budget/host_room.h"
#include "learn/harness/task.h"
#include "learn/train/update.h"

namespace hone {

class PlanMemo;

// A task with a model, and the facts of a device that decide the programs.
struct TaskModel {
  const Task& task;
  const ModelConfig& config;
  RunForm form;
  // Facts of the device that the run uses or is planned for; see the members of the same names in DeviceSpec.
  HostLane host_lane = HostLane::none;
  bool keeps_narrow = false;
  bool rows_apart = false;
  PlanMemo* memo = nullptr;  // programs and plans made before; null: none are kept
  // Task and model must outlive the result. Errors: those of Task::form.
  static Result<TaskModel> make(const Task& task, const Pretrained& model,
                                const DeviceSpec& device = {});
  void take(const DeviceSpec& device);  // replaces the facts of the device
  // A TaskModel for the task `other`, with the same model, device and form of the rows as this one and without a memo.
  // `other` must outlive the result.
  TaskModel with(const Task& other) const {
    return {other, config, form, host_lane, keeps_narrow, rows_apart};
  }
  const TaskSettings& settings() const { return *task.settings; }
};

// Limits of memory with which a run fits (learn/harness/budget/memory.h).
struct RunBudgets {
  // The largest number of bytes of the device that a training program may need besides the states of the run.
  // Activations are recomputed until the program needs no more than this, or until none are left to recompute. The
  // default: no limit.
  int64_t train_bytes = std::numeric_limits<int64_t>::max();
  HostRoom states = {};  // limits for offloaded states
  bool operator==(const RunBudgets&) const = default;
};

// The shapes of a run's programs, and the other facts that its plan depends on.
struct RunShapes {
  BatchGrid train, eval;    // an empty grid: no training, or no evaluation
  bool accumulate = false;  // true: a step may have more than one micro-batch
  // With --split_invariant: the largest number of units of a step (shared_update.h). 0: without --split_invariant.
  int64_t units = 0;
  // Limits of the key-value cache for generating texts; nullopt: evaluations generate no texts.
  std::optional<CacheLimits> writes;
  // True: matrix products may read copies of weights in 16 bits (engine/passes/compute_copies.h).
  bool copies = true;
  RunBudgets budgets = {};

  // The shapes of the training programs: train.shapes. If RunForm::labels_vary is true and a step is one micro-batch,
  // an additional last shape has room for a label at every token.
  std::vector<BatchShape> train_shapes(const RunForm& form) const;
  bool operator==(const RunShapes&) const = default;
};

// A cache of the programs and plans of one TaskModel on one backend. A search for a layout needs the same programs
// twice: to find the rows that fit, and to predict the time of a step.
class PlanMemo {
 public:
  static constexpr size_t kMost = 4;  // entries; the oldest is removed first
  struct Entry {
    RunShapes shapes;
    std::vector<Program> programs;     // after their passes
    std::optional<RunPlan> plan = {};  // nullopt: not planned yet
  };
  Entry* find(const RunShapes& shapes);  // null: not in the cache
  // Adds an entry without a plan. The reference is valid until the entry is removed.
  Entry& keep(const RunShapes& shapes, std::vector<Program> programs);

 private:
  std::deque<Entry> entries_;
};

// The shapes of a run before its data are read. `rows`: rows of a micro-batch. `row_tokens`: tokens of each row on the
// first axis; on other axes each row has the largest length that the form allows. `whole`: a step is one micro-batch.
// `train`, `eval`: whether the run trains, and whether it evaluates.
RunShapes shapes_without_data(const TaskModel& m, int64_t row_tokens, int64_t rows, bool whole,
                              bool train, bool eval);

// The shapes of a run after its data are read. `steps`: the steps of training; null: the run does not train. `rows`:
// rows of a micro-batch. `whole`: a step is one micro-batch.
RunShapes shapes_of_data(const TaskModel& m, const Examples& examples, const StepCount* steps,
                         int64_t rows, bool whole);

// Names of the weights that --dtype bfloat16 keeps only in bf16: all weights except those of an adapter, quantized
// weights and running statistics. Empty with other values of --dtype.
std::set<std::string> weights_in_bf16(const ModelConfig& config, const TrainSettings& s);
// The weights that the optimizer trains. `targets`: --optim_target_modules. `in_bf16`: weights_in_bf16().
std::vector<UpdateWeight> update_weights(const ModelConfig& config,
                                         const std::vector<std::string>& targets = {},
                                         const std::set<std::string>& in_bf16 = {});

// The parts of weights that this rank has if the ranks of the mesh's axis `tensor` divide them. Empty if the axis has
// one rank, or with --split_invariant, because each rank then has all weights. Errors: H1101 a layer cannot be divided
// among this number of ranks.
Result<TensorSplit> parts_of_weights(const TaskModel& model, const RunShapes& shapes);

// A program as the task builds it, and the passes to run on it before the session compiles it.
struct RunProgram {
  Program program;
  std::vector<Pass> passes;
};
// Lists all programs of the run. Their names:
// If a step is one micro-batch:
//   step.<shape>         a whole optimizer step
// If a step has several micro-batches:
//   train.<shape>        forward and backward of the first micro-batch of a step
//   accumulate.<shape>   forward and backward of a later micro-batch; adds its gradients to those of the step
//   update               the update of the weights after the micro-batches
// If a step has several micro-batches and the task has a JointLoss, also:
//   embed.<shape>        the embeddings of a micro-batch
//   joint                the loss of all rows of a step: input `embeddings`, output `gradient` with respect to them
// If the run evaluates:
//   eval.<shape>         a micro-batch of an evaluation
// If evaluations generate texts, also the programs of learn/generate/programs.h. Errors: H0211, H2409 and others of
// the precision and the optimizer's settings; H1101, H2432 the mesh does not fit the model or a setting; H2303 a model
// with batch norms and --split_invariant.
Result<std::vector<RunProgram>> list_programs(const TaskModel& m, const RunShapes& shapes);
// The training program of one shape in f32, with the passes that add its backward pass. For the tracer, which marks
// values between two passes.
RunProgram traced_program(const TaskModel& m, const BatchShape& shape);
// Every program of the run after its passes. `checks`: PassChecks::last verifies a program only after its last pass;
// use it for programs that are planned and do not run. Errors: those of list_programs and of the passes.
Result<std::vector<Program>> run_programs(const TaskModel& m, const RunShapes& shapes,
                                          PassChecks checks = PassChecks::each);
// The name of a program: "train.512"; if rows have two axes, "train.512+128".
std::string program_name(std::string_view kind, const BatchShape& shape);

// The nodes that programs compute a second time in the backward pass.
struct Recomputed {
  size_t nodes = 0;
  // Time of these nodes / time of all other nodes, of the programs that have recomputed nodes.
  double share = 0;
  std::string text() const;  // "318 nodes are computed again, about 19 % more time"; or ""
};
Recomputed recomputed(std::span<const Program> programs);
// Floating-point operations of one run of the program. Recomputed nodes are not counted.
double flops_of(const Program& p);

// The memory plan of all programs of these shapes. Errors: those of run_programs and of Session::compile.
Result<RunPlan> plan_of(const TaskModel& m, const Backend& backend, const RunShapes& shapes);

}  // namespace hone
