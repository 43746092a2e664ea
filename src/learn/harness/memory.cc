#include "learn/harness/memory.h"

#include <algorithm>

#include "base/core/memory.h"
#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/errors.h"

namespace hone {

namespace {

// Makes the split of `fit`, whose plan needs more than there is, fit by computing activations again;
// where that is not enough, its plan is the smallest one. Each plan says how far it is from the limit:
// fragments and scratch are seen there alone.
Status fit_by_recompute(const TaskModel& m, const Backend& backend, int64_t memory_bytes,
                        int64_t rows, const ShapesOf& shapes_of, Fit& fit) {
  const auto over = [&](const RunPlan& plan) {
    return memory_of(plan, backend.spec()) - memory_bytes;
  };
  int64_t least = fit.plan.state_bytes[Space::device];  // without a single activation
  for (const ProgramPlan& p : fit.plan.programs)
    least = std::max(least, fit.plan.state_bytes[Space::device] + p.phase_bytes[Space::device]);
  const bool cannot = over(fit.plan) >= fit.plan.used_bytes() - least;
  RunShapes shapes = shapes_of(rows, fit.whole);
  shapes.train_bytes = fit.plan.program_bytes[Space::device];
  for (const ProgramPlan& p : fit.plan.programs)  // the pass does not see the scratch of kernels
    if (p.held_bytes(Space::device) == fit.plan.program_bytes[Space::device])
      shapes.train_bytes -= p.workspace_bytes;
  for (int tries = 0; tries < (cannot ? 1 : 6); ++tries) {
    shapes.train_bytes = cannot ? 0 : std::max<int64_t>(shapes.train_bytes - over(fit.plan), 0);
    RunPlan next = HONE_TRY(plan_of(m, backend, shapes));
    if (next.used_bytes() >= fit.plan.used_bytes()) break;
    fit.plan = std::move(next);
    fit.train_bytes = shapes.train_bytes;
    if (over(fit.plan) > 0) continue;
    fit.rows = rows;
    break;
  }
  return Ok{};
}

}  // namespace

Result<Fit> fit_run(const TaskModel& m, const Backend& backend, int64_t wanted_rows,
                    int64_t memory_bytes, const ShapesOf& shapes_of,
                    const std::optional<Split>& keep) {
  const TaskSettings& s = m.settings();
  auto plan_split = [&](const Split& split) {
    return plan_of(m, backend, shapes_of(split.rows, split.whole));
  };
  const auto needs = [&](const RunPlan& plan) { return memory_of(plan, backend.spec()); };
  // The way to take this number of rows that needs less memory; fit.whole says which.
  Fit fit;
  auto plan = [&](int64_t rows) -> Result<RunPlan> {
    fit.whole =
        s.do_train && s.gradient_accumulation_steps == 1 && rows >= s.per_device_train_batch_size;
    if (keep && keep->rows == rows) fit.whole = fit.whole && keep->whole;
    RunPlan one = HONE_TRY(plan_split({rows, fit.whole}));
    if (!fit.whole || m.form.even_steps || (keep && keep->rows == rows)) return one;
    RunPlan several = HONE_TRY(plan_split({rows, false}));
    if (needs(several) >= needs(one)) return one;
    fit.whole = false;
    return several;
  };
  const int64_t most = keep ? keep->rows : wanted_rows;
  for (int64_t rows = most; rows >= 1; --rows) {
    if (wanted_rows % rows != 0) continue;
    fit.plan = HONE_TRY(plan(rows));
    if (needs(fit.plan) <= memory_bytes) {
      fit.rows = rows;
      break;
    }
    // Where one row does not fit, nothing between does.
    if (rows != most || rows == 1) continue;
    fit.plan = HONE_TRY(plan(1));
    if (needs(fit.plan) > memory_bytes) break;
  }
  if (!s.do_train) return fit;
  if (keep && fit.rows != keep->rows) {
    Fit kept;
    kept.whole = keep->whole;
    kept.plan = HONE_TRY(plan_split(*keep));
    HONE_TRY(fit_by_recompute(m, backend, memory_bytes, keep->rows, shapes_of, kept));
    if (kept.rows > 0) return kept;
  }
  if (fit.rows == 0) HONE_TRY(fit_by_recompute(m, backend, memory_bytes, 1, shapes_of, fit));
  return fit;
}

// Memory grows nearly evenly with rows, so a line through two plans gives most guesses: the last two
// that fit, or the last one and the first that does not. Where it is of no help, rows double, or the gap
// is halved.
Result<int64_t> largest_micro_batch(const TaskModel& m, const Backend& backend, const Fit& fit,
                                    int64_t memory_bytes, const ShapesOf& shapes_of) {
  struct Try {
    int64_t rows, bytes;  // used, as whole huge pages hide small slopes
    bool fits = true;
  };
  const auto try_rows = [&](int64_t rows) -> Result<Try> {
    RunShapes shapes = shapes_of(rows, fit.whole);
    shapes.train_bytes = fit.train_bytes;
    const RunPlan plan = HONE_TRY(plan_of(m, backend, shapes));
    return Try{rows, plan.used_bytes(), memory_of(plan, backend.spec()) <= memory_bytes};
  };
  Try fits{fit.rows, fit.plan.used_bytes()}, other{0, fit.plan.state_bytes[Space::device]};
  bool one_too_many = false;  // `other` does not fit
  bool halve = false;
  while (fits.rows < kMostRowsTried && !(one_too_many && other.rows == fits.rows + 1)) {
    const int64_t gap = one_too_many ? other.rows - fits.rows : kMostRowsTried + 1 - fits.rows;
    const double slope =
        static_cast<double>(other.bytes - fits.bytes) / static_cast<double>(other.rows - fits.rows);
    const int64_t line = halve ? gap / 2
                         : slope > 0
                             ? static_cast<int64_t>(std::min(
                                   static_cast<double>(memory_bytes - fits.bytes) / slope, 1e9))
                             : (one_too_many ? gap / 2 : fits.rows);
    const int64_t more = std::clamp<int64_t>(line, 1, gap - 1);
    const Try tried = HONE_TRY(try_rows(fits.rows + more));
    halve = one_too_many && more < gap / 4;  // the line is not straight
    if (!tried.fits)
      one_too_many = true;
    else if (!one_too_many)
      other = fits;
    (tried.fits ? fits : other) = tried;
  }
  return fits.rows;
}

std::string needs_text(int64_t bytes, int64_t tokens, int64_t may_use) {
  return fmt::format("the run needs {} with one row of {}, {} may be used", format_bytes(bytes),
                     count_of(tokens, "token"), format_bytes(std::max<int64_t>(may_use, 0)));
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
  return read_memory().free_bytes() - kRuntimeBudget;
}

std::string MemoryReport::text() const {
  return fmt::format("arena {} as planned, {} of it in memory; runtime {} of {}",
                     format_bytes(planned_bytes), format_bytes(arena_bytes),
                     format_bytes(runtime_bytes + measured_bytes - arena_bytes),
                     format_bytes(kRuntimeBudget));
}

}  // namespace hone
