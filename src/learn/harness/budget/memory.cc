#include "learn/harness/budget/memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "learn/data/rows/count_text.h"
#include "learn/train/run_ranks.h"

namespace hone {

namespace {

// The host's room for states, if more states wait there than fit.
std::optional<HostRoom> room_for_states(const RunPlan& plan, const Needs& needs,
                                        const ArenaLimits& limits) {
  constexpr int64_t kPages = 4 << 20;  // sizes are rounded up
  int64_t states = 0;
  for (const StateSlot& slot : plan.states)
    if (slot.home == Space::host) states += slot.type.bytes();
  if (needs.host <= limits.host || states == 0) return std::nullopt;
  return HostRoom{.host = std::max<int64_t>(limits.host - (needs.host - states) - kPages, 0)};
}

// Makes the split of `fit`, whose plan is too large, fit by recomputing activations. If that is not
// enough, its plan is the smallest one. Each plan shows the distance to the limit: fragments and
// scratch appear only there.
Status fit_by_recompute(const TaskModel& m, const Backend& backend, const ArenaLimits& limits,
                        int64_t rows, const ShapesOf& shapes_of, Fit& fit) {
  const auto over = [&](const RunPlan& plan) {
    return excess_bytes(needs_of(plan, backend.spec(), limits), limits);
  };
  // Recomputing shrinks other spaces only if they hold activations.
  ArenaLimits here = limits;
  here.host = here.disk = kNoLimit;
  if (m.settings().offload_activation_device == "none" &&
      excess_bytes(needs_of(fit.plan, backend.spec(), here), here) <= 0)
    return Ok{};
  int64_t least = fit.plan.state_bytes[Space::device];  // without any activation
  for (const ProgramPlan& p : fit.plan.programs)
    least = std::max(least, fit.plan.state_bytes[Space::device] + p.phase_bytes[Space::device]);
  const bool cannot = over(fit.plan) >= fit.plan.used_bytes() - least;
  RunShapes shapes = shapes_of(rows, fit.whole);
  shapes.budgets = fit.budgets;
  int64_t& budget = shapes.budgets.train_bytes;
  budget = fit.plan.program_bytes[Space::device];
  for (const ProgramPlan& p : fit.plan.programs)  // the pass does not know the scratch of kernels
    if (p.held_bytes(Space::device) == fit.plan.program_bytes[Space::device])
      budget -= p.workspace_bytes;
  // A smaller budget does not always give a smaller plan; without a budget the plan is the
  // smallest.
  bool none = cannot;
  for (int tries = 0; tries < (cannot ? 1 : 6); ++tries) {
    none = none || tries == 5;
    budget = none ? 0 : std::max<int64_t>(budget - over(fit.plan), 0);
    RunPlan next = HONE_TRY(plan_of(m, backend, shapes));
    if (next.used_bytes() >= fit.plan.used_bytes()) {
      if (std::exchange(none, true)) break;
      continue;
    }
    fit.plan = std::move(next);
    fit.budgets = shapes.budgets;
    if (over(fit.plan) > 0) continue;
    fit.rows = rows;
    break;
  }
  return Ok{};
}

// Whether a step may be one program; the loss of rows on several ranks needs the embeddings of all.
bool may_be_whole(const TaskModel& m) {
  const TaskSettings& s = m.settings();
  return s.do_train && s.gradient_accumulation_steps == 1 && !(m.task.joint && !s.ranks->alone());
}

struct Planned {
  RunPlan plan;
  HostRoom states = {};
};

// Plans the programs of a split, with the states where the host has room for them.
struct SplitPlanner {
  const TaskModel& m;
  const Backend& backend;
  const ArenaLimits& limits;
  const ShapesOf& shapes_of;

  int64_t over(const RunPlan& plan) const {
    return excess_bytes(needs_of(plan, backend.spec(), limits), limits);
  }

  Result<Planned> plan(const Split& split) const {
    RunShapes shapes = shapes_of(split.rows, split.whole);
    const auto plan_with = [&](const HostRoom& room) -> Result<Planned> {
      shapes.budgets.states = room;
      return Planned{HONE_TRY(plan_of(m, backend, shapes)), room};
    };
    Planned as_asked = HONE_TRY(plan_with({}));
    const std::optional<HostRoom> room =
        room_for_states(as_asked.plan, needs_of(as_asked.plan, backend.spec(), limits), limits);
    if (!room) return as_asked;
    Planned on_disk = HONE_TRY(plan_with(*room));
    if (over(on_disk.plan) > 0)
      return over(on_disk.plan) < over(as_asked.plan) ? std::move(on_disk) : std::move(as_asked);
    HostRoom here = *room;
    here.device = limits.device - needs_of(on_disk.plan, backend.spec(), limits).device;
    Planned stay = HONE_TRY(plan_with(here));
    return over(stay.plan) <= 0 ? std::move(stay) : std::move(on_disk);
  }
};

}  // namespace

Result<Fit> fit_run(const TaskModel& m, const Backend& backend, int64_t wanted_rows,
                    const ArenaLimits& limits, const ShapesOf& shapes_of,
                    const std::optional<Split>& keep) {
  const TaskSettings& s = m.settings();
  if (m.form.most_rows > 0) wanted_rows = std::min(wanted_rows, m.form.most_rows);
  const SplitPlanner planner{m, backend, limits, shapes_of};
  // The way to take this number of rows with less memory; see fit.whole.
  Fit fit;
  const auto take = [](Planned planned, Fit& into) {
    into.plan = std::move(planned.plan);
    into.budgets.states = planned.states;
  };
  auto plan = [&](int64_t rows) -> Result<Planned> {
    fit.whole = may_be_whole(m) && rows >= s.rank_rows();
    if (keep && keep->rows == rows) fit.whole = fit.whole && keep->whole;
    Planned one = HONE_TRY(planner.plan({rows, fit.whole}));
    if (!fit.whole || m.form.even_steps || (keep && keep->rows == rows)) return one;
    Planned several = HONE_TRY(planner.plan({rows, false}));
    if (planner.over(several.plan) >= planner.over(one.plan)) return one;
    fit.whole = false;
    return several;
  };
  if (s.do_train && s.split_invariant > 0) {
    if (m.task.joint)
      return Error(err::kSettingConflict,
                   "--split_invariant and a loss of rows with one another exclude each other: no "
                   "unit of rows has a loss of its own")
          .todo("leave --split_invariant out");
    take(HONE_TRY(planner.plan({s.split_invariant, false})), fit);
    if (planner.over(fit.plan) <= 0)
      fit.rows = s.split_invariant;
    else
      HONE_TRY(fit_by_recompute(m, backend, limits, s.split_invariant, shapes_of, fit));
    return fit;
  }
  const int64_t most = keep ? keep->rows : wanted_rows;
  for (int64_t rows = most; rows >= 1; --rows) {
    if (wanted_rows % rows != 0) continue;
    take(HONE_TRY(plan(rows)), fit);
    if (planner.over(fit.plan) <= 0) {
      fit.rows = rows;
      break;
    }
    // If one row does not fit, nothing between does.
    if (rows != most || rows == 1) continue;
    take(HONE_TRY(plan(1)), fit);
    if (planner.over(fit.plan) > 0) break;
  }
  if (!s.do_train) return fit;
  if (keep && fit.rows != keep->rows) {
    Fit kept;
    kept.whole = keep->whole;
    take(HONE_TRY(planner.plan(*keep)), kept);
    HONE_TRY(fit_by_recompute(m, backend, limits, keep->rows, shapes_of, kept));
    if (kept.rows > 0) return kept;
  }
  if (fit.rows == 0) HONE_TRY(fit_by_recompute(m, backend, limits, 1, shapes_of, fit));
  return fit;
}

namespace {

// Rows that take a step at once as one program, or as a micro-batch of several: whichever fits.
class RowsTrial {
 public:
  RowsTrial(const TaskModel& m, const Backend& backend, const ArenaLimits& limits,
            const ShapesOf& shapes_of)
      : planner_{m, backend, limits, shapes_of},
        may_be_whole_(may_be_whole(m) && m.settings().split_invariant == 0),
        whole_(may_be_whole_) {}

  // Plans one row, both ways. A way in which it does not fit recomputes activations until it does,
  // and keeps that budget for larger numbers.
  Result<RunPlan> begin() {
    for (const bool whole : ways()) {
      Planned as_asked = HONE_TRY(planner_.plan({1, whole}));
      if (planner_.over(as_asked.plan) <= 0 || !planner_.m.settings().do_train) continue;
      Fit one{.whole = whole, .plan = std::move(as_asked.plan)};
      one.budgets.states = as_asked.states;
      HONE_TRY(fit_by_recompute(planner_.m, planner_.backend, planner_.limits, 1,
                                planner_.shapes_of, one));
      if (one.rows > 0) recomputed_[whole ? 1 : 0] = one.budgets;
    }
    return plan(1);
  }

  Result<RunPlan> plan(int64_t rows) { return std::move(HONE_TRY(plan_rows(rows)).plan); }

 private:
  // The one that fitted last comes first.
  std::vector<bool> ways() const {
    if (!may_be_whole_) return {whole_};
    return {whole_, !whole_};
  }

  Result<Planned> plan_rows(int64_t rows) {
    std::optional<Planned> best;
    for (const bool whole : ways()) {
      Planned one = HONE_TRY(plan_way(rows, whole));
      if (best && planner_.over(one.plan) >= planner_.over(best->plan)) continue;
      best = std::move(one);
      whole_ = whole;
      if (planner_.over(best->plan) <= 0) break;
    }
    return *std::move(best);
  }

  Result<Planned> plan_way(int64_t rows, bool whole) {
    const std::optional<RunBudgets>& budgets = recomputed_[whole ? 1 : 0];
    if (!budgets) return planner_.plan({rows, whole});
    RunShapes shapes = planner_.shapes_of(rows, whole);
    shapes.budgets = *budgets;
    return Planned{HONE_TRY(plan_of(planner_.m, planner_.backend, shapes))};
  }

  const SplitPlanner planner_;
  const bool may_be_whole_;
  bool whole_;
  std::array<std::optional<RunBudgets>, 2> recomputed_;  // of several micro-batches, of one
};

}  // namespace

// Memory grows nearly linearly with rows, so a line through two plans gives most guesses: the last
// two that fit, or the last that fits and the first that does not. If the line does not help, rows
// double, or the gap is halved.
Result<LargestBatch> largest_micro_batch(const TaskModel& m, const Backend& backend,
                                         const ArenaLimits& limits, const ShapesOf& shapes_of) {
  struct Try {
    int64_t rows, bytes;  // used bytes, because whole huge pages hide small slopes
    bool fits = true;
    int64_t over = 0;
    Needs needs = {};
    int64_t state_bytes = 0;
  };
  RowsTrial trial(m, backend, limits, shapes_of);
  const auto tried_rows = [&](int64_t rows, const RunPlan& plan) {
    const Needs needs = needs_of(plan, backend.spec(), limits);
    const int64_t over = excess_bytes(needs, limits);
    return Try{rows, plan.used_bytes(), over <= 0, over, needs, plan.state_bytes[Space::device]};
  };
  Try fits = tried_rows(1, HONE_TRY(trial.begin()));
  if (!fits.fits) return LargestBatch{0, fits.needs};
  Try other{0, fits.state_bytes};
  bool one_too_many = false;  // `other` does not fit
  // If the line is not straight, steps grow until one does not fit, and then halve the gap: two
  // tries for each.
  int64_t last_step = 0;
  int slow = 0;  // tries that left more than half of the gap
  while (fits.rows < kMostRowsTried && !(one_too_many && other.rows == fits.rows + 1)) {
    const int64_t gap = one_too_many ? other.rows - fits.rows : kMostRowsTried + 1 - fits.rows;
    const double slope =
        static_cast<double>(other.bytes - fits.bytes) / static_cast<double>(other.rows - fits.rows);
    const int64_t line =
        slow > 1    ? gap / 2
        : slope > 0 ? static_cast<int64_t>(std::min(static_cast<double>(-fits.over) / slope, 1e9))
                    : (one_too_many ? gap / 2 : fits.rows);
    const int64_t least = one_too_many ? 1 : 2 * last_step;
    const int64_t more = std::clamp<int64_t>(std::max(line, least), 1, gap - 1);
    const Try tried = tried_rows(fits.rows + more, HONE_TRY(trial.plan(fits.rows + more)));
    last_step = more;
    const int64_t left = tried.fits ? gap - more : more;
    if (one_too_many) slow = left <= gap / 2 ? std::min(slow, 1) : slow + 1;
    if (!tried.fits)
      one_too_many = true;
    else if (!one_too_many)
      other = fits;
    (tried.fits ? fits : other) = tried;
  }
  return LargestBatch{fits.rows, one_too_many ? other.needs : Needs{}};
}

std::string row_size_text(const RunForm& form) {
  return form.row_text.empty() ? count_of(form.limits[0].tokens, "token") : form.row_text;
}

std::string needs_text(const Needs& needs, const std::string& row, const ArenaLimits& limits,
                       int64_t rows) {
  const std::string with =
      fmt::format("with {} of {}", rows == 1 ? "one row" : count_of(rows, "row"), row);
  if (limits.shared && needs.disk <= limits.disk)
    return fmt::format("the run needs {} {}, {} may be used", format_bytes(needs.device), with,
                       format_bytes(std::max<int64_t>(limits.device, 0)));
  return fmt::format("the run does not fit {}: {}", with, excess_text(needs, limits));
}

std::string MemoryReport::text() const {
  const std::string where = device_bytes > 0
                                ? fmt::format("{} on the device, {} in memory",
                                              format_bytes(device_bytes), format_bytes(arena_bytes))
                                : fmt::format("{} of it in memory", format_bytes(arena_bytes));
  return fmt::format("arena {} as planned, {}; runtime {} of {}", format_bytes(planned_bytes),
                     where, format_bytes(runtime_bytes + measured_bytes - arena_bytes),
                     format_bytes(budget_bytes));
}

}  // namespace hone
