#include "learn/tasks/run_programs.h"

#include <algorithm>

#include "base/core/memory.h"
#include "base/core/text.h"
#include "engine/backends/null/null.h"
#include "engine/passes/pipelines.h"
#include "learn/generate/prompts.h"
#include "learn/train/errors.h"

namespace hone {

namespace {

std::vector<BatchShape> shapes_of(const BatchGrid& grid, const PairGrid& pairs) {
  std::vector<BatchShape> shapes;
  for (const int64_t tokens : grid.budgets) shapes.push_back({tokens, grid.slots});
  for (const PairBudget& b : pairs.budgets) shapes.push_back({b.target, pairs.slots, b.source});
  return shapes;
}

int64_t in_lines(int64_t tokens) { return (tokens + 63) / 64 * 64; }

}  // namespace

std::vector<BatchShape> RunShapes::train_shapes(const TaskSettings& s) const {
  std::vector<BatchShape> shapes = shapes_of(train, train_pairs);
  if (!accumulate && s.labels_vary() && !shapes.empty()) {
    shapes.push_back(shapes.back());
    shapes.back().all_labels = true;
  }
  return shapes;
}
std::vector<BatchShape> RunShapes::eval_shapes() const { return shapes_of(eval, eval_pairs); }

std::string program_name(std::string_view kind, const BatchShape& shape) {
  if (shape.source_tokens == 0)
    return fmt::format("{}.{}{}", kind, shape.tokens, shape.all_labels ? ".all" : "");
  return fmt::format("{}.{}+{}", kind, shape.source_tokens, shape.tokens);
}

Result<PairNeeds> pair_needs(const TaskSettings& s, const Pretrained& model) {
  PairNeeds needs{s.target_tokens(model.config)};
  if (needs.target_tokens > 0) needs.beams = HONE_TRY(generation_of(model)).num_beams;
  return needs;
}

RunShapes shapes_without_data(const TaskSettings& s, int64_t row_tokens, int64_t rows, bool whole,
                              bool train, bool eval, const PairNeeds& needs) {
  if (needs.target_tokens > 0) {
    auto pairs = [&](int64_t r, int64_t most) {
      return PairGrid{
          {{in_lines(r * row_tokens), in_lines(r * needs.target_tokens)}}, most, most + 1};
    };
    RunShapes shapes;
    if (train) shapes.train_pairs = pairs(rows, whole ? rows : 2 * rows);
    shapes.accumulate = train && !whole;
    if (eval) {
      const int64_t r = std::min(rows, s.per_device_eval_batch_size);
      shapes.eval_pairs = pairs(r, 2 * r);
      shapes.writes = s.generation_limits(needs, row_tokens, r);
    }
    return shapes;
  }
  auto grid = [&](int64_t r, int64_t most) {
    // The last step of an epoch of a stream may leave slack, which is a sequence.
    if (!s.rows_apart()) return BatchGrid{{r * row_tokens}, r, s.streaming ? r + 1 : r};
    return BatchGrid{{in_lines(r * row_tokens)}, most, most + 1};
  };
  RunShapes shapes;
  if (train) shapes.train = grid(rows, whole ? rows : 2 * rows);
  shapes.accumulate = train && !whole;
  if (eval) {
    const int64_t r = std::min(rows, s.per_device_eval_batch_size);
    shapes.eval = grid(r, 2 * r);
  }
  return shapes;
}

std::vector<UpdateWeight> update_weights(const ModelConfig& config) {
  std::vector<UpdateWeight> weights;
  for (const ParamSpec& p : family_of(config).params(config))
    if (p.trained) weights.push_back({p.name, {DType::f32, p.shape}, p.decay});
  return weights;
}

Result<std::vector<Program>> run_programs(const TaskSettings& s, const ModelConfig& config,
                                          const RunShapes& shapes) {
  std::vector<Program> programs;
  auto add = [&](Program p, const std::vector<Pass>& passes) -> Status {
    programs.push_back(std::move(p));
    HONE_TRY(run_passes(programs.back(), passes, {}));
    return Ok{};
  };
  const Precision precision = s.bf16 ? Precision::bf16 : Precision::f32;
  const std::vector<BatchShape> train = shapes.train_shapes(s);
  const std::vector<UpdateWeight> weights = update_weights(config);
  UpdateOptions update;
  if (!train.empty()) update = HONE_TRY(update_options(s));
  for (const BatchShape& shape : train) {
    const auto build = [&](std::string_view kind) {
      return s.build(config, shape, program_name(kind, shape), true);
    };
    if (shapes.accumulate) {
      HONE_TRY(add(build("train"), train_pipeline(false, precision)));
      HONE_TRY(add(build("train_add"), train_pipeline(true, precision)));
      continue;
    }
    const auto append = [&](Program& p) -> Result<bool> {
      append_update(p, weights, update);
      return true;
    };
    HONE_TRY(add(build("step"), step_pipeline(append, precision, s.optimizer_home())));
  }
  if (!train.empty() && shapes.accumulate)
    HONE_TRY(add(build_update(weights, update), update_pipeline(s.optimizer_home())));
  for (const BatchShape& shape : shapes.eval_shapes())
    HONE_TRY(add(s.build(config, shape, program_name("eval", shape), false),
                 forward_pipeline(WeightStorage::f32, precision)));
  if (shapes.writes)
    for (Program& p : HONE_TRY(build_cached_programs(config, *shapes.writes)))
      programs.push_back(std::move(p));
  return programs;
}

Result<RunPlan> plan_of(const TaskSettings& s, const ModelConfig& config, const Backend& backend,
                        const RunShapes& shapes) {
  const NullBackend null(&backend);
  const Session session =
      HONE_TRY(Session::compile(HONE_TRY(run_programs(s, config, shapes)), null));
  return session.plan();
}

Result<Fit> fit_run(const TaskSettings& s, const ModelConfig& config, const Backend& backend,
                    int64_t wanted_rows, int64_t memory_bytes, const ShapesOf& shapes_of,
                    const std::optional<Split>& keep) {
  auto plan_split = [&](const Split& split) {
    return plan_of(s, config, backend, shapes_of(split.rows, split.whole));
  };
  const auto needs = [&](const RunPlan& plan) { return memory_of(plan, backend.spec()); };
  // Of the ways to take so many rows the one that needs less memory; it says which in fit.whole.
  Fit fit;
  auto plan = [&](int64_t rows) -> Result<RunPlan> {
    fit.whole =
        s.do_train && s.gradient_accumulation_steps == 1 && rows >= s.per_device_train_batch_size;
    if (keep && keep->rows == rows) fit.whole = keep->whole;
    RunPlan one = HONE_TRY(plan_split({rows, fit.whole}));
    if (!fit.whole || s.steps_are_even() || (keep && keep->rows == rows)) return one;
    RunPlan several = HONE_TRY(plan_split({rows, false}));
    if (needs(several) >= needs(one)) return one;
    fit.whole = false;
    return several;
  };
  for (int64_t rows = keep ? keep->rows : wanted_rows; rows >= 1; --rows) {
    if (wanted_rows % rows != 0) continue;
    fit.plan = HONE_TRY(plan(rows));
    if (needs(fit.plan) > memory_bytes) continue;
    fit.rows = rows;
    break;
  }
  return fit;
}

// Memory grows nearly evenly with rows, so a line through the last two plans gives most guesses.
Result<int64_t> largest_micro_batch(const TaskSettings& s, const ModelConfig& config,
                                    const Backend& backend, const Fit& fit, int64_t memory_bytes,
                                    const ShapesOf& shapes_of) {
  struct Tried {
    int64_t rows, bytes;  // used, as whole huge pages hide small slopes
  };
  Tried fits{fit.rows, fit.plan.used_bytes()}, before{0, fit.plan.state_bytes[Space::device]};
  int64_t too_many = kMostRowsTried + 1;
  while (too_many - fits.rows > 1) {
    const double slope = static_cast<double>(fits.bytes - before.bytes) /
                         static_cast<double>(fits.rows - before.rows);
    const double more =
        slope > 0 ? static_cast<double>(memory_bytes - fits.bytes) / slope : kMostRowsTried;
    int64_t rows = fits.rows + static_cast<int64_t>(std::min<double>(more, kMostRowsTried));
    // Where the line is of no help, halves.
    if (rows >= too_many) rows = too_many - 1;
    if (rows <= fits.rows) rows = fits.rows + 1;
    const RunPlan plan = HONE_TRY(plan_of(s, config, backend, shapes_of(rows, fit.whole)));
    if (memory_of(plan, backend.spec()) > memory_bytes) {
      too_many = rows;
      if (too_many - fits.rows <= 1) break;
      const int64_t middle = fits.rows + (too_many - fits.rows) / 2;
      const RunPlan half = HONE_TRY(plan_of(s, config, backend, shapes_of(middle, fit.whole)));
      if (memory_of(half, backend.spec()) > memory_bytes)
        too_many = middle;
      else
        before = fits, fits = {middle, half.used_bytes()};
    } else {
      before = fits, fits = {rows, plan.used_bytes()};
    }
  }
  return fits.rows;
}

Status check_device_memory(const TrainSettings& s) {
  if (!s.device_memory) return Ok{};
  const MemoryReading m = read_memory();
  const int64_t most = std::min(m.total_bytes, m.limit_bytes.value_or(m.total_bytes));
  if (static_cast<int64_t>(s.device_memory->bytes) <= most) return Ok{};
  return Error(err::kDoesNotFit,
               fmt::format("{} are more than the {} that this machine has",
                           format_bytes(static_cast<int64_t>(s.device_memory->bytes)),
                           format_bytes(most)))
      .at("--device_memory")
      .todo("give less, or leave the flag out: the run then takes what is free");
}

int64_t memory_for_arenas(const TrainSettings& s) {
  if (s.device_memory) return static_cast<int64_t>(s.device_memory->bytes) - kRuntimeBudget;
  const MemoryReading m = read_memory();
  int64_t free_bytes = m.available_bytes;
  if (m.limit_bytes)
    free_bytes = std::min(free_bytes, *m.limit_bytes - m.rss_anon_bytes - m.rss_shmem_bytes);
  return free_bytes - kRuntimeBudget;
}

std::string MemoryReport::text() const {
  return fmt::format("arena {} as planned, {} of it in memory; runtime {} of {}",
                     format_bytes(planned_bytes), format_bytes(arena_bytes),
                     format_bytes(runtime_bytes + measured_bytes - arena_bytes),
                     format_bytes(kRuntimeBudget));
}

}  // namespace hone
