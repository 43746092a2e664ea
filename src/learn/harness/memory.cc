#include "learn/harness/memory.h"

#include <algorithm>

#include "base/core/memory.h"
#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/errors.h"

namespace hone {

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
Result<int64_t> largest_micro_batch(const TaskModel& m, const Backend& backend, const Fit& fit,
                                    int64_t memory_bytes, const ShapesOf& shapes_of) {
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
    const RunPlan plan = HONE_TRY(plan_of(m, backend, shapes_of(rows, fit.whole)));
    if (memory_of(plan, backend.spec()) > memory_bytes) {
      too_many = rows;
      if (too_many - fits.rows <= 1) break;
      const int64_t middle = fits.rows + (too_many - fits.rows) / 2;
      const RunPlan half = HONE_TRY(plan_of(m, backend, shapes_of(middle, fit.whole)));
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
