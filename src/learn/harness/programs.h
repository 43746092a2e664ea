// The programs of a run, before a byte of memory is taken. This is the only place that lists them:
// training, hone plan, graph, bench, check and the tracer ask it.
#pragma once

#include "engine/device/backend.h"
#include "engine/passes/pipelines.h"
#include "learn/harness/host_room.h"
#include "learn/harness/task.h"
#include "learn/train/update.h"

namespace hone {

// A task with a model.
struct TaskModel {
  const Task& task;
  const ModelConfig& config;
  RunForm form;
  HostLane host_lane = HostLane::none;  // of the device that it runs on or is planned for
  // Task and model must outlive it. Errors: those of Task::form.
  static Result<TaskModel> make(const Task& task, const Pretrained& model,
                                HostLane host_lane = HostLane::none);
  const TaskSettings& settings() const { return *task.settings; }
};

// How many bytes are where, so that a run fits (learn/harness/memory.h).
struct RunBudgets {
  // What a training program may hold beside the states of the run; activations are computed again until
  // it does, or none are left.
  int64_t train_bytes = std::numeric_limits<int64_t>::max();
  HostRoom states = {};
};

struct RunShapes {
  BatchGrid train, eval;              // empty: not trained, not evaluated
  bool accumulate = false;            // a step may be more than one micro-batch
  std::optional<CacheLimits> writes;  // evaluations generate texts
  // Products may read copies of weights that are elsewhere (engine/passes/compute_copies.h).
  bool copies = true;
  RunBudgets budgets = {};

  // A program for each of these; the last one is that for all labels where those vary.
  std::vector<BatchShape> train_shapes(const RunForm& form) const;
};

// What a run needs when its data are not read yet: `rows` rows of which each has at most
// `row_tokens` tokens on the first axis in a micro-batch; where their lengths are not known, the
// most that it can need. whole: a step is one micro-batch.
RunShapes shapes_without_data(const TaskModel& m, int64_t row_tokens, int64_t rows, bool whole,
                              bool train, bool eval);

// What a run needs whose data are read. `steps`: of training, null without it.
RunShapes shapes_of_data(const TaskModel& m, const Examples& examples, const StepCount* steps,
                         int64_t rows, bool whole);

// The weights that --dtype bfloat16 keeps in bf16: all but those of an adapter and those in blocks.
std::set<std::string> weights_in_bf16(const ModelConfig& config, const TrainSettings& s);
// What the optimizer trains. `targets`: --optim_target_modules; in_bf16: those above.
std::vector<UpdateWeight> update_weights(const ModelConfig& config,
                                         const std::vector<std::string>& targets = {},
                                         const std::set<std::string>& in_bf16 = {});

// A program as the task builds it, and the passes that make it what the session runs.
struct RunProgram {
  Program program;
  std::vector<Pass> passes;
};
// Every program of the run: step.<shape>, or train.<shape>, accumulate.<shape> and update;
// eval.<shape>, and those that generate texts (learn/generate/programs.h). Errors: those of the
// settings of the optimizer.
Result<std::vector<RunProgram>> list_programs(const TaskModel& m, const RunShapes& shapes);
// The same after their passes.
Result<std::vector<Program>> run_programs(const TaskModel& m, const RunShapes& shapes);
// "train.512", of pairs "train.512+128".
std::string program_name(std::string_view kind, const BatchShape& shape);

// What is computed again in these programs.
struct Recomputed {
  size_t nodes = 0;
  double share = 0;          // of the time of the programs without it, as their nodes say
  std::string text() const;  // "318 nodes are computed again, about 19 % more time"; or empty
};
Recomputed recomputed(std::span<const Program> programs);
// What the model takes: what is computed again is not counted twice.
double flops_of(const Program& p);

// The plan of the programs of these shapes.
Result<RunPlan> plan_of(const TaskModel& m, const Backend& backend, const RunShapes& shapes);

}  // namespace hone
