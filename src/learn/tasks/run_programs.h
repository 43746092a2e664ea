// The programs of a run, their micro-batches and their memory, before a byte of it is allocated.
#pragma once

#include "base/core/threads.h"
#include "engine/device/backend.h"
#include "learn/data/batches/pair_batch.h"
#include "learn/tasks/task_settings.h"
#include "learn/train/update.h"

namespace hone {

struct RunShapes {
  BatchGrid train, eval;              // empty budgets: not trained, not evaluated
  PairGrid train_pairs, eval_pairs;   // of tasks that learn pairs, instead
  bool accumulate = false;            // a step may be more than one micro-batch
  std::optional<CacheLimits> writes;  // evaluations write texts

  // A program for each of these; by budget, and last that for all labels where those vary.
  std::vector<BatchShape> train_shapes(const TaskSettings& s) const;
  std::vector<BatchShape> eval_shapes() const;
  int64_t train_rows() const { return std::max(train.max_rows, train_pairs.max_rows); }
  int64_t eval_rows() const { return std::max(eval.max_rows, eval_pairs.max_rows); }
};
// "train.512", of pairs "train.512+128".
std::string program_name(std::string_view kind, const BatchShape& shape);

// What a run needs when its data are not read yet: `rows` rows of `row_tokens` in a micro-batch;
// where their lengths are not known, the most that it can need. whole: a step is one micro-batch.
RunShapes shapes_without_data(const TaskSettings& s, int64_t row_tokens, int64_t rows, bool whole,
                              bool train, bool eval, const PairNeeds& pairs = {});
// The limits for a model. Errors: those of its generation config.
Result<PairNeeds> pair_needs(const TaskSettings& s, const Pretrained& model);

// What the optimizer trains.
std::vector<UpdateWeight> update_weights(const ModelConfig& config);

// Every program of the run after its passes: step.<T>, or train.<T>, train_add.<T> and update;
// eval.<T>, and those that write texts (learn/generate/programs.h).
Result<std::vector<Program>> run_programs(const TaskSettings& s, const ModelConfig& config,
                                          const RunShapes& shapes);

// The micro-batch that fits: the largest divisor of per_device_train_batch_size (evaluation alone:
// of per_device_eval_batch_size) whose arenas take at most `memory_bytes`.
struct Fit {
  int64_t rows = 0;    // of a micro-batch; 0: not even one row fits
  bool whole = false;  // a step is one micro-batch and one program
  RunPlan plan;        // with `rows`, or with one row when none fits
};
// The plan of the programs of these shapes.
Result<RunPlan> plan_of(const TaskSettings& s, const ModelConfig& config, const Backend& backend,
                        const RunShapes& shapes);
using ShapesOf = std::function<RunShapes(int64_t rows, bool whole)>;
// `keep`: that split, if it fits.
Result<Fit> fit_run(const TaskSettings& s, const ModelConfig& config, const Backend& backend,
                    int64_t wanted_rows, int64_t memory_bytes, const ShapesOf& shapes_of,
                    const std::optional<Split>& keep = {});

// H2404 when --device_memory is more than this machine, or its control group, has.
Status check_device_memory(const TrainSettings& s);

// The most rows of a micro-batch that fit, when those of `fit` do: a row more does not. At most
// kMostRowsTried.
inline constexpr int64_t kMostRowsTried = 65536;
Result<int64_t> largest_micro_batch(const TaskSettings& s, const ModelConfig& config,
                                    const Backend& backend, const Fit& fit, int64_t memory_bytes,
                                    const ShapesOf& shapes_of);

// Bytes that the arenas of this process may take: --device_memory, or what is free now.
int64_t memory_for_arenas(const TrainSettings& s);

// Bytes of the runtime besides the arena (code, tokenizer, data): the plan's own line.
inline constexpr int64_t kRuntimeBudget = 192 << 20;

// Planned and measured memory of a run. Measured: what the process keeps in anonymous and shared
// pages now, less what it kept just before the arena was mapped.
struct MemoryReport {
  int64_t planned_bytes = 0;
  int64_t measured_bytes = 0;
  int64_t runtime_bytes = 0;  // what it kept before: tokenizer, data, plans
  int64_t arena_bytes = 0;    // of the arena, in memory now
  std::string text() const;   // the arena, and apart from it all else
};

}  // namespace hone
