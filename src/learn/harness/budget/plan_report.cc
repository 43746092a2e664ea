#include "learn/harness/budget/plan_report.h"

namespace hone {
namespace {

KeptBytes kept_by(const RunPlan& plan, const DeviceSpec& spec) {
  KeptBytes kept;
  int64_t phase = 0;
  for (const ProgramPlan& p : plan.programs) phase = std::max(phase, p.phase_bytes[Space::device]);
  kept.states = plan.state_bytes[Space::device];
  if (!spec.own_memory) kept.states += plan.state_bytes[Space::host];
  kept.all = kept.states + phase;
  return kept;
}

Result<PlanRemedy> remedy_for(const PlacementSearch& search, int64_t runtime, const Fit& fit) {
  const TaskModel& m = search.model;
  const TaskSettings& s = m.settings();
  PlanRemedy r;
  r.kept = kept_by(fit.plan, search.backend.spec());
  r.memory_bytes = needs_of(fit.plan, search.backend.spec(), search.limits).device + runtime;
  PlacementSearch nearest = search;
  nearest.wanted_rows = 1;
  nearest.first_that_fits = true;
  const Placements found = HONE_TRY(try_placements(nearest));
  if (found.best) r.placement = found.tried[*found.best].how;
  if (r.kept.all > search.limits.device) return r;
  for (int64_t shorter = m.form.limits[0].tokens / 2; shorter >= 16 && r.row_tokens == 0;
       shorter /= 2) {
    const Fit one =
        HONE_TRY(fit_run(m, search.backend, 1, search.limits, [&](int64_t rows, bool whole) {
          return shapes_without_data(m, shorter, rows, whole, s.do_train, s.do_eval);
        }));
    if (one.rows > 0) r.row_tokens = shorter;
  }
  return r;
}

// The micro-batch that fits, the largest that would, and what one row more takes.
Status fit_rows(const PlacementSearch& run, const PlanData* data, PlanReport& r) {
  const TaskModel& m = run.model;
  const ShapesOf shapes = [&](int64_t rows, bool whole) { return run.shapes(m, rows, whole); };
  r.fit = HONE_TRY(fit_run(m, run.backend, run.wanted_rows, run.limits, shapes));
  if (r.fit.rows == 0) return Ok{};
  // A larger micro-batch is one of larger steps.
  const ShapesOf larger = [&](int64_t rows, bool whole) {
    if (!data) return shapes(rows, whole);
    const StepCount steps = StepCount::make({.rows = r.data_rows, .batch_rows = rows}).value();
    return shapes_of_data(m, data->examples, &steps, rows, whole);
  };
  const LargestBatch most = HONE_TRY(largest_micro_batch(m, run.backend, run.limits, larger));
  r.largest_rows = std::max(r.fit.rows, most.rows), r.one_more_row = most.one_more;
  if (r.all_rows_fit()) r.largest_rows = r.data_rows, r.one_more_row = {};
  return Ok{};
}

// Predicts the work and the time of the run's programs. `data`: null if they are not read.
Status predict(const PlacementSearch& run, PlanData* data, PlanReport& r) {
  const TaskModel& m = run.model;
  const TaskSettings& s = m.settings();
  const int64_t rows = std::max<int64_t>(r.fit.rows, 1);
  RunShapes shapes = run.shapes(m, rows, r.fit.whole);
  shapes.budgets = r.fit.budgets;
  const std::vector<Program> programs = HONE_TRY(run_programs(m, shapes));
  const double micro_batches = micro_batches_of(s, r.wanted_rows, rows);
  r.again = recomputed(programs);
  if (!s.do_train) return Ok{};
  const StepTimes times = step_times(programs, shapes, r.device);
  RunLength length = length_without_data(s, r.row.tokens);
  StepRuns step = mean_step_runs(times, micro_batches);
  if (data) {
    step = HONE_TRY(mean_step_runs(s, times, shapes.train, *data->feed, micro_batches));
    length = length_of(*data->feed, data->examples);
  }
  r.seconds = times.of(step);
  r.flops = step_amounts(programs, shapes, [](const Program& p) { return flops_of(p); }).of(step);
  r.time = HONE_TRY(plan_time(m, length, r.fit.plan, r.seconds,
                              evaluation_seconds(s, times, shapes.eval, length.eval_rows), r.device,
                              r.is_here));
  return Ok{};
}

int64_t runtime_of(const DeviceSpec& device, const ArenaLimits& limits, int64_t stream) {
  if (device.own_memory) return device.runtime_bytes;
  return limits.shared ? kRuntimeBudget + stream : 0;
}

}  // namespace

PlanSubject plan_subject(const Task& task, const Pretrained& model, const TaskModel& made) {
  return {.settings = task.settings,
          .model = model.name,
          .parameters = parameter_count(model.config),
          .row = made.form.limits[0],
          .row_size = row_size_text(made.form),
          .of_tokens = made.form.row_text.empty()};
}

Result<PlanReport> plan_report(const Task& task, Pretrained& model, const PlannedDevices& devices,
                               bool choices) {
  const TaskSettings& s = *task.settings;
  const Backend* const here = devices.here.get();
  PlanReport r;
  r.device = devices.cluster.device;
  if (here) {
    r.speeds = machine_speeds(*here, SpeedsWanted::of(s, choices));
    static_cast<Speeds&>(r.device) = r.speeds ? r.speeds->speeds : kTypicalCpu;
  }
  const std::unique_ptr<PlanData> data = HONE_TRY(read_plan_data(task, model, here));
  const auto backend = here ? plan_backend(*here) : HONE_TRY(plan_backend(r.device));
  const TaskModel made = HONE_TRY(TaskModel::make(task, model, r.device));
  static_cast<PlanSubject&>(r) = plan_subject(task, model, made);
  r.is_here = here != nullptr;
  r.stream_bytes = stream_bytes(s, r.row.tokens);
  r.limits = limits_of(s, r.device, r.stream_bytes);
  r.runtime_bytes = runtime_of(r.device, r.limits, r.stream_bytes);
  r.wanted_rows = s.do_train ? s.per_device_train_batch_size : s.per_device_eval_batch_size;
  const PlacementSearch run{
      .model = made,
      .backend = *backend,
      .limits = r.limits,
      .speeds = r.device,
      .wanted_rows = r.wanted_rows,
      .shapes = [&](const TaskModel& m, int64_t rows, bool whole) {
        return data ? shapes_of_data(m, data->examples, &*data->feed->steps(), rows, whole)
                    : shapes_without_data(m, r.row.tokens, rows, whole, s.do_train, s.do_eval);
      }};
  if (data) r.data_rows = data->feed->train_rows();
  HONE_TRY(fit_rows(run, data.get(), r));
  HONE_TRY(predict(run, data.get(), r));
  if (choices) r.choices = HONE_TRY(try_placements(run));
  if (r.fit.rows == 0)
    r.remedy = HONE_TRY(remedy_for(run, r.runtime_bytes, r.fit));
  else if (saves_beside_training(s))
    r.copy = plan_save_copy(s, r.fit.plan, saved_weights(model.config), r.device, r.limits);
  return r;
}

}  // namespace hone
