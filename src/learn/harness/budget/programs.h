// The programs of a run, before any memory is allocated. This is the only list: training, hone
// plan, graph, bench, check and the tracer use it.
#pragma once

#include <deque>

#include "engine/device/backend.h"
#include "engine/passes/pipelines.h"
#include "learn/harness/budget/host_room.h"
#include "learn/harness/task.h"
#include "learn/train/update.h"

namespace hone {

class PlanMemo;

// A task with a model.
struct TaskModel {
  const Task& task;
  const ModelConfig& config;
  RunForm form;
  HostLane host_lane = HostLane::none;  // of the device of the run or the plan
  bool keeps_narrow = false;            // its kernels read and write 16 bits (narrow_values)
  bool rows_apart = false;              // of its products (divide_rows)
  PlanMemo* memo = nullptr;             // of its programs and plans; null: none
  // Task and model must outlive it. Errors: those of Task::form.
  static Result<TaskModel> make(const Task& task, const Pretrained& model,
                                const DeviceSpec& device = {});
  void take(const DeviceSpec& device);
  // The same model and device for another task, which must outlive it; without a memo.
  TaskModel with(const Task& other) const {
    return {other, config, form, host_lane, keeps_narrow, rows_apart};
  }
  const TaskSettings& settings() const { return *task.settings; }
};

// Bytes by space, so that a run fits (learn/harness/budget/memory.h).
struct RunBudgets {
  // Bytes that a training program may hold besides the states of the run. Activations are
  // recomputed until it does, or none are left.
  int64_t train_bytes = std::numeric_limits<int64_t>::max();
  HostRoom states = {};
  bool operator==(const RunBudgets&) const = default;
};

struct RunShapes {
  BatchGrid train, eval;              // empty: no training, no evaluation
  bool accumulate = false;            // a step may be more than one micro-batch
  int64_t units = 0;                  // of a step, at most (--split_invariant); 0: no units
  std::optional<CacheLimits> writes;  // evaluations generate texts
  // Products may read copies of offloaded weights (engine/passes/compute_copies.h).
  bool copies = true;
  RunBudgets budgets = {};

  // The shape of each program; if labels vary, the last one has room for all of them.
  std::vector<BatchShape> train_shapes(const RunForm& form) const;
  bool operator==(const RunShapes&) const = default;
};

// The programs and plans that a search for a layout has made. A search asks for the same ones
// again: for the rows that fit, and for the time of their step. Belongs to one TaskModel and one
// backend.
class PlanMemo {
 public:
  static constexpr size_t kMost = 4;  // entries; the oldest goes first
  struct Entry {
    RunShapes shapes;
    std::vector<Program> programs;  // after their passes
    std::optional<RunPlan> plan = {};
  };
  Entry* find(const RunShapes& shapes);  // null: not here
  Entry& keep(const RunShapes& shapes, std::vector<Program> programs);

 private:
  std::deque<Entry> entries_;
};

// Shapes of a run before its data are read: `rows` rows in a micro-batch, each with at most
// `row_tokens` tokens on the first axis; for unknown lengths the largest possible. whole: a step is
// one micro-batch.
RunShapes shapes_without_data(const TaskModel& m, int64_t row_tokens, int64_t rows, bool whole,
                              bool train, bool eval);

// Shapes of a run after its data are read. `steps`: of training, null without it.
RunShapes shapes_of_data(const TaskModel& m, const Examples& examples, const StepCount* steps,
                         int64_t rows, bool whole);

// Weights that --dtype bfloat16 keeps in bf16: all but an adapter's and those in blocks.
std::set<std::string> weights_in_bf16(const ModelConfig& config, const TrainSettings& s);
// The weights that the optimizer trains. `targets`: --optim_target_modules; in_bf16: see above.
std::vector<UpdateWeight> update_weights(const ModelConfig& config,
                                         const std::vector<std::string>& targets = {},
                                         const std::set<std::string>& in_bf16 = {});

// The parts of weights on this rank of a mesh; none in a run with --split_invariant. Errors: H1101.
Result<TensorSplit> parts_of_weights(const TaskModel& model, const RunShapes& shapes);

// A program as the task builds it, and the passes that make it ready for the session.
struct RunProgram {
  Program program;
  std::vector<Pass> passes;
};
// Every program of the run: step.<shape>, or train.<shape>, accumulate.<shape> and update, with a JointLoss
// also embed.<shape> and joint, whose state `embeddings` has become an input and whose output `gradient` is theirs;
// eval.<shape>, and programs that generate texts (learn/generate/programs.h). Errors: those of the
// optimizer's settings; H1101 and H2432 of a mesh; H2303 a model that several ranks do not train.
Result<std::vector<RunProgram>> list_programs(const TaskModel& m, const RunShapes& shapes);
// The loss of one shape in f32 with the passes that make its gradients, for the tracer, which marks
// values between two passes.
RunProgram traced_program(const TaskModel& m, const BatchShape& shape);
// Every program of the run after its passes. Programs that only plan_of() looks at are checked
// once, after their last pass.
Result<std::vector<Program>> run_programs(const TaskModel& m, const RunShapes& shapes,
                                          PassChecks checks = PassChecks::each);
// "train.512"; for pairs "train.512+128".
std::string program_name(std::string_view kind, const BatchShape& shape);

// The recomputed part of these programs.
struct Recomputed {
  size_t nodes = 0;
  double share = 0;          // of the programs' time without recompute, by their nodes
  std::string text() const;  // "318 nodes are computed again, about 19 % more time"; or ""
};
Recomputed recomputed(std::span<const Program> programs);
// FLOPs of the model: recomputed nodes do not count twice.
double flops_of(const Program& p);

// The plan of the programs of these shapes.
Result<RunPlan> plan_of(const TaskModel& m, const Backend& backend, const RunShapes& shapes);

}  // namespace hone
