// hone plan --task T: the memory and time of the run that the same flags would start, without its
// weights or data.
#include <chrono>

#include "base/core/log.h"
#include "base/core/text.h"
#include "engine/backends/backends.h"
#include "engine/ops/cost.h"
#include "engine/ops/ops.h"
#include "learn/data/rows/count_text.h"
#include "run/commands/command.h"
#include "run/commands/training.h"

namespace hone {
namespace {

struct PlanSettings {
#define HONE_SETTINGS "run/commands/plan.def"
#include "base/settings/fields.inc"
};

// FLOP per second of one matrix product on this machine: best of four.
Result<double> measure_flops(int threads, bool bf16) {
  constexpr int64_t kSize = 512;
  Program p(op_table(), "probe");
  Builder b(p);
  ValueId x = p.add_input("x", {DType::f32, {kSize, kSize}});
  p.outputs.push_back({"y", ops::matmul(b, x, x, false, false, bf16)});
  std::vector<Program> programs;
  programs.push_back(std::move(p));
  const auto backend = HONE_TRY(open_backend("cpu", {.threads = threads}));
  Session session = HONE_TRY(Session::compile(std::move(programs), *backend));
  HONE_TRY(session.allocate());
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    auto start = std::chrono::steady_clock::now();
    session.run(0);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);
  }
  return best;
}

// What the arenas may take on the device, and what its code takes beside them.
struct Room {
  int64_t arenas = 0, runtime = 0;
};
Room room_on(const DeviceSpec& device, const TaskSettings& s, int64_t stream) {
  if (device.name == "cpu") return {memory_for_arenas(s) - stream, kRuntimeBudget + stream};
  const int64_t all =
      s.device_memory ? static_cast<int64_t>(s.device_memory->bytes) : device.memory_bytes;
  return {all - device.runtime_bytes, device.runtime_bytes};
}

// What the model takes: what is computed again is not counted twice.
double flops_of(const Program& p) {
  double sum = 0;
  for (const Node& n : p.nodes)
    if (!n.clone) sum += cost_of({p, n}).flops;
  return sum;
}

// What would make a run fit that does not: values on disk, a shorter block, or as much memory as it
// says.
struct Remedy {
  std::vector<std::string> offload;  // the fewest settings that are nvme when one row fits
  // The largest half, quarter, ... of the row's tokens with which one row fits; 0: none.
  int64_t row_tokens = 0;
  int64_t memory_bytes = 0;  // with one row as long as was asked for
};
// What lives in the device's memory from step to step, and from one micro-batch to the next.
struct Kept {
  int64_t states = 0, all = 0;
};
Kept kept_by(const RunPlan& plan, const DeviceSpec& spec) {
  Kept kept;
  int64_t phase = 0;
  for (const ProgramPlan& p : plan.programs) phase = std::max(phase, p.phase_bytes[Space::device]);
  kept.states = plan.state_bytes[Space::device];
  if (!spec.own_memory) kept.states += plan.state_bytes[Space::host];
  kept.all = kept.states + phase;
  return kept;
}
// Bytes of the states of `plan` that `to` leaves on the device: what it needs at least.
int64_t left_on_device(const RunPlan& plan, const Offload& to) {
  int64_t bytes = 0;
  for (const StateSlot& s : plan.states)
    if ((s.role == Role::moment && to.moments == Space::device) ||
        (s.role == Role::grad && to.gradients == Space::device) ||
        (s.role == Role::param && to.params == Space::device))
      bytes += s.type.bytes();
  return bytes;
}
Result<bool> one_row_fits(const TaskModel& m, const Backend& backend, int64_t memory,
                          int64_t row_tokens) {
  const TaskSettings& s = m.settings();
  const Fit fit = HONE_TRY(fit_run(m, backend, 1, memory, [&](int64_t rows, bool whole) {
    return shapes_without_data(m, row_tokens, rows, whole, s.do_train, s.do_eval);
  }));
  return fit.rows > 0;
}
Result<Remedy> remedy_for(const TaskModel& m, const Backend& backend, int64_t runtime,
                          int64_t memory, const Fit& fit) {
  const int64_t tokens = m.form.limits[0].tokens;
  Remedy r;
  r.memory_bytes = memory_of(fit.plan, backend.spec()) + runtime;
  if (m.settings().do_train) {
    Task task = m.task;
    task.settings = std::make_shared<TaskSettings>(m.settings());
    TaskSettings& s = *task.settings;
    bool fits = false;
    for (const auto& [name, device] :
         {std::pair{"offload_optimizer_device", &s.offload_optimizer_device},
          {"offload_gradient_device", &s.offload_gradient_device},
          {"offload_param_device", &s.offload_param_device}}) {
      if (fits || *device != "none") continue;
      *device = "nvme";
      r.offload.push_back(name);
      if (left_on_device(fit.plan, s.offload()) > memory) continue;
      fits = HONE_TRY(one_row_fits({task, m.config, m.form}, backend, memory, tokens));
    }
    if (!fits) r.offload.clear();
  }
  if (kept_by(fit.plan, backend.spec()).all > memory) return r;
  for (int64_t shorter = tokens / 2; shorter >= 16 && r.row_tokens == 0; shorter /= 2)
    if (HONE_TRY(one_row_fits(m, backend, memory, shorter))) r.row_tokens = shorter;
  return r;
}

Result<int> run_plan(const std::vector<std::string>& args) {
  PlanSettings only;
  const auto chosen =
      HONE_TRY(choose_task({.name = "hone plan",
                            .summary = "exact memory and estimated time of a run, before it starts",
                            .defaults = [](TaskSettings& s) { s.do_train = true; },
                            .more = [&](Schema& schema) { only.bind(schema); }},
                           args));
  if (!chosen->task) return kExitDone;
  const TaskSettings& s = *chosen->task->settings;
  bool from_scratch = false;
  const Pretrained model = HONE_TRY(open_for_training(*chosen->task, from_scratch, false));
  const ModelConfig& config = model.config;
  const int threads = static_cast<int>(s.threads);
  DeviceSpec device = HONE_TRY(device_spec(only.device, {.threads = threads}));
  const bool here = device.name == "cpu";
  const auto backend = HONE_TRY(plan_backend(device));
  const TaskModel made = HONE_TRY(TaskModel::make(*chosen->task, model));
  const RowLimit& limit = made.form.limits[0];
  const int64_t block = limit.tokens, stream = stream_bytes(s, block);
  const auto [memory, runtime] = room_on(device, s, stream);
  const int64_t wanted = s.do_train ? s.per_device_train_batch_size : s.per_device_eval_batch_size;
  auto shapes = [&](int64_t rows, bool whole) {
    return shapes_without_data(made, block, rows, whole, s.do_train, s.do_eval);
  };
  const Fit fit = HONE_TRY(fit_run(made, *backend, wanted, memory, shapes));
  const int64_t rows = std::max<int64_t>(fit.rows, 1);
  const int64_t largest =
      fit.rows == 0 ? 0 : HONE_TRY(largest_micro_batch(made, *backend, fit, memory, shapes));

  if (here)
    (s.bf16 ? device.bf16_flops : device.f32_flops) = HONE_TRY(measure_flops(threads, s.bf16));
  double flops = 0, seconds = 0;
  RunShapes chosen_shapes = shapes(rows, fit.whole);
  chosen_shapes.train_bytes = fit.train_bytes;
  const std::vector<Program> programs = HONE_TRY(run_programs(made, chosen_shapes));
  for (const Program& p : programs) {
    if (!p.name.starts_with("train.") && !p.name.starts_with("step.")) continue;
    const double micro_batches = static_cast<double>(wanted) / static_cast<double>(rows) *
                                 static_cast<double>(s.gradient_accumulation_steps);
    flops = flops_of(p) * micro_batches;
    seconds = seconds_of(p, device) * micro_batches;
  }
  const int64_t arena = fit.plan.arena_bytes();
  OrderedJson j;
  j["model"] = model.name;
  j["parameters"] = parameter_count(config);
  // A device with memory of its own has an image of inputs and outputs on the host.
  const int64_t host =
      kRuntimeBudget + stream + fit.plan.arena_bytes(Space::host) + (here ? 0 : fit.plan.io_bytes);
  j["device"] = device.name;
  j["peak_bytes"] = {
      {"device", arena}, {"host", host}, {"disk", fit.plan.arena_bytes(Space::disk)}};
  j["by_purpose"] = fit.plan.by_purpose();
  j["memory_bytes"] = memory + runtime;
  j["fits"] = fit.rows > 0;
  j[limit.flag] = block;
  j["micro_batch_rows"] = fit.rows;
  j["largest_micro_batch_rows"] = largest;
  j["micro_batches_per_step"] = wanted / rows * s.gradient_accumulation_steps;
  const Recomputed again = recomputed(programs);
  j["recompute"] = {{"nodes", again.nodes}, {"share_of_time", again.share}};
  j["flops_per_step"] = flops;
  j["seconds_per_step"] = seconds;
  Remedy remedy;
  if (fit.rows == 0) {
    remedy = HONE_TRY(remedy_for(made, *backend, runtime, memory, fit));
    j["would_fit"] = {{"memory_bytes", remedy.memory_bytes}};
    for (const std::string& name : remedy.offload) j["would_fit"][name] = "nvme";
    if (remedy.row_tokens > 0) j["would_fit"][limit.flag] = remedy.row_tokens;
  }
  const int status = fit.rows > 0 ? kExitDone : kExitUserError;
  if (only.json) {
    print_out(dump_json(j) + "\n");
    return status;
  }
  std::string text = fmt::format("{}: {} parameters, rows of {}, {} in a step\n", model.name,
                                 parameter_count(config), count_of(block, "token"),
                                 count_of(wanted * s.gradient_accumulation_steps, "row"));
  for (const auto& [purpose, bytes] : fit.plan.by_purpose())
    if (bytes > 0) text += fmt::format("  {:<16} {:>12}\n", purpose, format_bytes(bytes));
  text += fmt::format("  {:<16} {:>12}\n  {:<16} {:>12}  (budget of {})\n", "arena",
                      format_bytes(arena), "runtime", format_bytes(here ? kRuntimeBudget : runtime),
                      here ? "code, tokenizer, data" : "context and libraries");
  for (const Space space : {Space::host, Space::disk})
    if (const int64_t bytes = fit.plan.arena_bytes(space); bytes > 0)
      text += fmt::format("  {:<16} {:>12}\n", fmt::format("arena on {}", name_of(space)),
                          format_bytes(bytes));
  if (stream > 0 && here) text += fmt::format("  {:<16} {:>12}\n", "stream", format_bytes(stream));
  if (fit.rows == 0) {
    text += fmt::format("does not fit: {} may be used, one row needs {}\n",
                        format_bytes(memory + runtime), format_bytes(remedy.memory_bytes));
    const Kept kept = kept_by(fit.plan, device);
    std::vector<std::string> flags;
    if (remedy.row_tokens > 0)
      flags.push_back(fmt::format("--{} {}", limit.flag, remedy.row_tokens));
    if (!remedy.offload.empty())
      flags.push_back(fmt::format("--{} nvme", join(remedy.offload, " nvme --")));
    text += !flags.empty()
                ? fmt::format("  do   {} fits; or use more memory\n", join(flags, " or "))
                : fmt::format("  do   a smaller model or more memory: {} alone take {}\n",
                              kept.all > kept.states ? "weights, gradients and moments"
                                                     : "weights and moments",
                              format_bytes(kept.all));
  } else {
    text += fmt::format("fits into {}: micro-batches of {}; the largest that fits has {}{}\n",
                        format_bytes(memory + runtime), count_of(fit.rows, "row"), grouped(largest),
                        largest == kMostRowsTried ? " or more" : "");
  }
  if (again.nodes > 0) text += again.text() + "\n";
  const double speed = s.bf16 ? device.bf16_flops : device.f32_flops;
  if (flops > 0 && here)
    text += fmt::format("{:.3g} FLOP in a step, about {:.3g} s at this machine's {:.0f} GFLOP/s\n",
                        flops, seconds, speed / 1e9);
  else if (flops > 0)
    text += fmt::format(
        "{:.3g} FLOP in a step, at least {:.3g} s by the data sheet of {}: {:.3g} "
        "TFLOP/s, {:.0f} GB/s\n",
        flops, seconds, device.name, speed / 1e12, device.bytes_per_second / 1e9);
  print_out(text);
  return status;
}

}  // namespace

Command command_plan() {
  return {.name = "plan",
          .summary = "exact memory and estimated time of a run, before it starts",
          .run = run_plan};
}

}  // namespace hone
