// hone plan --task T: the memory and time of the run that the same flags would start, without its
// weights or data.
#include <cmath>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/settings/errors.h"
#include "engine/backends/backends.h"
#include "engine/device/errors.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/placement.h"
#include "learn/harness/ranks.h"
#include "learn/harness/save_copy.h"
#include "run/commands/command.h"
#include "run/commands/plan_time.h"
#include "run/commands/training.h"

namespace hone {
namespace {

struct PlanSettings {
#define HONE_SETTINGS "run/commands/plan.def"
#include "base/settings/fields.inc"
};

// A change that makes the run fit: offloaded values, a shorter block, or more memory.
struct Remedy {
  std::optional<Placement> placement;  // the one that changes least
  // The largest half, quarter, ... of the row's tokens with which one row fits; 0: none.
  int64_t row_tokens = 0;
  int64_t memory_bytes = 0;  // of the device, with one row as long as was asked for
};
// Bytes that stay in the device's memory from step to step, and from one micro-batch to the next.
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
Result<Remedy> remedy_for(const PlacementSearch& search, int64_t runtime, const Fit& fit) {
  const TaskModel& m = search.model;
  const TaskSettings& s = m.settings();
  Remedy r;
  r.memory_bytes = needs_of(fit.plan, search.backend.spec(), search.limits).device + runtime;
  PlacementSearch nearest = search;
  nearest.wanted_rows = 1;
  nearest.first_that_fits = true;
  const Placements found = HONE_TRY(try_placements(nearest));
  if (found.best) r.placement = found.tried[*found.best].how;
  if (kept_by(fit.plan, search.backend.spec()).all > search.limits.device) return r;
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

// "device 26.0 GiB", with the host's where it has a limit of its own.
std::string limits_text(const ArenaLimits& limits, int64_t runtime) {
  std::string text = format_bytes(limits.device + runtime);
  if (limits.host != kNoLimit)
    text += fmt::format(" of the device and {} of the host",
                        format_bytes(limits.host + kRuntimeBudget));
  return text;
}

OrderedJson needs_json(const Needs& n) {
  return {{"device", n.device}, {"host", n.host}, {"disk", n.disk}};
}

OrderedJson placement_json(const Placement& p) {
  return {{"offload_optimizer_device", p.optimizer},
          {"offload_gradient_device", p.gradient},
          {"offload_param_device", p.param},
          {"offload_activation_device", p.activation},
          {"gradient_checkpointing", p.gradient_checkpointing}};
}

OrderedJson placements_json(const Placements& all) {
  OrderedJson list = OrderedJson::array();
  for (size_t i = 0; i < all.tried.size(); ++i) {
    const TriedPlacement& t = all.tried[i];
    OrderedJson one = placement_json(t.how);
    one["micro_batch_rows"] = t.fit.rows;
    one["peak_bytes"] = needs_json(t.needs);
    one["seconds_per_step"] = t.seconds;
    one["chosen"] = all.best == i;
    one["why"] = t.why;
    list.push_back(std::move(one));
  }
  return list;
}

// The plan of a rank of several devices, with the layouts that were tried.
Result<int> plan_ranks(const TaskModel& m, const std::string& model, const DeviceGroup& group,
                       const ArenaLimits& limits, bool as_json) {
  const TaskSettings& s = m.settings();
  const RowLimit& limit = m.form.limits[0];
  const auto backend = HONE_TRY(plan_backend(group.device));
  const std::vector<RankPlan> tried =
      HONE_TRY(try_layouts(m, *backend, group.count, limit.tokens, group.device, limits));
  const RankPlan& last = tried.back();
  const bool fits = last.rows > 0;
  const int64_t runtime = group.device.runtime_bytes, n = group.count;
  const int64_t rows_in_step = n * s.per_device_train_batch_size * s.gradient_accumulation_steps;
  const auto host_of = [&](const RankPlan& p) {
    return n * (p.bytes[Space::host] + kRuntimeBudget);
  };
  if (as_json) {
    OrderedJson j;
    j["model"] = model;
    j["parameters"] = parameter_count(m.config);
    j["device"] = group.device.name;
    j["devices"] = n;
    j["layout"] = last.layout.text();
    j["zero_stage"] = last.layout.stage;
    j["peak_bytes"] = {{"device", last.bytes[Space::device]},
                       {"host", host_of(last)},
                       {"disk", n * last.bytes[Space::disk]}};
    j["by_purpose"] = last.by_purpose;
    j["memory_bytes"] = limits.device + runtime;
    j["fits"] = fits;
    j[limit.flag] = limit.tokens;
    j["rows_per_step"] = rows_in_step;
    j["micro_batch_rows"] = last.rows;
    j["flops_per_step"] = last.flops * static_cast<double>(n);
    j["seconds_per_step"] = last.seconds;
    j["tried"] = OrderedJson::array();
    for (const RankPlan& p : tried)
      j["tried"].push_back({{"layout", p.layout.text()},
                            {"micro_batch_rows", p.rows},
                            {"peak_bytes",
                             {{"device", p.bytes[Space::device]},
                              {"host", host_of(p)},
                              {"disk", n * p.bytes[Space::disk]}}},
                            {"why", p.why}});
    print_out(dump_json(j) + "\n");
    return fits ? kExitDone : kExitUserError;
  }
  std::string text = fmt::format("{}: {} parameters, rows of {}, {} in a step of {} devices\n",
                                 model, parameter_count(m.config), count_of(limit.tokens, "token"),
                                 count_of(rows_in_step, "row"), n);
  text += fmt::format("{:>5} {:>11} {:>11} {:>11}  {}\n", "rows", "a device", "host", "disk",
                      "layout: why");
  for (const RankPlan& p : tried)
    text += fmt::format("{:>5} {:>11} {:>11} {:>11}  {}: {}\n", p.rows,
                        format_bytes(p.bytes[Space::device]), format_bytes(host_of(p)),
                        format_bytes(n * p.bytes[Space::disk]), p.layout.text(), p.why);
  text += fmt::format("each of {} {}, {}:\n", n, group.device.name, last.layout.text());
  for (const auto& [purpose, bytes] : last.by_purpose)
    text += fmt::format("  {:<16} {:>12}\n", purpose, format_bytes(bytes));
  text +=
      fmt::format("  {:<16} {:>12}\n  {:<16} {:>12}  (budget of context and libraries)\n", "arena",
                  format_bytes(last.bytes[Space::device]), "runtime", format_bytes(runtime));
  if (fits)
    text += fmt::format("fits into {}: micro-batches of {} on each device\n",
                        limits_text(limits, runtime), count_of(last.rows, "row"));
  else
    text += fmt::format("does not fit: {}\n  do   more devices, more memory or a smaller model\n",
                        last.why);
  text += fmt::format(
      "assumed: what is cut is held by rows of the first axis, {} of each tensor; weights are "
      "gathered "
      "layer by layer; each device has its own micro-batches; hone trains on one device today\n",
      n == 1 ? "all" : fmt::format("1/{}", n));
  text += fmt::format("{:.3g} FLOP in a step, at least {:.3g} s by the data sheet of {}\n",
                      last.flops * static_cast<double>(n), last.seconds, group.device.name);
  print_out(text);
  return fits ? kExitDone : kExitUserError;
}

struct PlannedDevices {
  DeviceGroup group;
  std::unique_ptr<Backend> here;  // the device itself, where it is this machine's
};

Result<PlannedDevices> named_devices(const std::string& name, int threads) {
  const BackendOptions options{.threads = threads};
  Result<DeviceGroup> group = device_group(name, options);
  if (group.ok() && group->device.name == "cpu") {
    auto cpu = HONE_TRY(open_backend("cpu", options));
    return PlannedDevices{*group, std::move(cpu)};
  }
  if (group.ok()) return PlannedDevices{*group, nullptr};
  auto opened = open_device(name, options);
  if (opened.ok()) {
    for (const BackendKind& k : backend_kinds())
      if (k.chooser && k.name == (*opened)->spec().kernels)
        return PlannedDevices{{(*opened)->spec(), 1}, std::move(*opened)};
  } else if (!opened.error().is(err::kNoBackend)) {
    return opened.error();
  }
  return Error(err::kSettingChoice, fmt::format("device: {}", group.error().what()))
      .at("--device " + name)
      .todo(group.error().remedy());
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
  Pretrained model = HONE_TRY(open_for_training(*chosen->task, from_scratch, false));
  const ModelConfig& config = model.config;
  const int threads = static_cast<int>(s.threads);
  const PlannedDevices planned = HONE_TRY(named_devices(s.device_here(), threads));
  const DeviceGroup& group = planned.group;
  DeviceSpec device = group.device;
  const Backend* const here = planned.here.get();
  const bool list_choices = only.choices || s.auto_fit;
  std::optional<MachineSpeeds> speeds;
  std::unique_ptr<PlanData> data;
  if (here) {
    speeds = machine_speeds(*here, SpeedsWanted::of(s, list_choices));
    static_cast<Speeds&>(device) = speeds ? speeds->speeds : kTypicalCpu;
    data = HONE_TRY(read_plan_data(*chosen->task, model, here->device().pool()));
  }
  const auto backend = here ? plan_backend(*here) : HONE_TRY(plan_backend(device));
  const TaskModel made = HONE_TRY(TaskModel::make(*chosen->task, model, device.host_lane));
  const RowLimit& limit = made.form.limits[0];
  const int64_t block = limit.tokens, stream = stream_bytes(s, block);
  const ArenaLimits limits = limits_of(s, device, stream);
  if (group.count > 1 && s.do_train) return plan_ranks(made, model.name, group, limits, only.json);
  // Memory of the device's code besides its arena; on the CPU the host's, unless that has its own
  // limit.
  const int64_t runtime = device.own_memory ? device.runtime_bytes
                          : limits.shared   ? kRuntimeBudget + stream
                                            : 0;
  const int64_t memory = limits.device;
  const int64_t wanted = s.do_train ? s.per_device_train_batch_size : s.per_device_eval_batch_size;
  auto shapes_for = [&](const TaskModel& m, int64_t rows, bool whole) {
    return data ? shapes_of_data(m, data->examples, &*data->feed->steps(), rows, whole)
                : shapes_without_data(m, block, rows, whole, s.do_train, s.do_eval);
  };
  auto shapes = [&](int64_t rows, bool whole) { return shapes_for(made, rows, whole); };
  const Fit fit = HONE_TRY(fit_run(made, *backend, wanted, limits, shapes));
  const int64_t rows = std::max<int64_t>(fit.rows, 1);
  const int64_t largest =
      fit.rows == 0 ? 0 : HONE_TRY(largest_micro_batch(made, *backend, fit, limits, shapes));
  Needs one_more;  // of the smallest micro-batch that does not fit
  if (largest > 0 && largest < kMostRowsTried) {
    RunShapes more = shapes(largest + 1, fit.whole);
    more.budgets = fit.budgets;
    one_more = needs_of(HONE_TRY(plan_of(made, *backend, more)), device, limits);
  }

  double flops = 0, seconds = 0;
  RunShapes chosen_shapes = shapes(rows, fit.whole);
  chosen_shapes.budgets = fit.budgets;
  const std::vector<Program> programs = HONE_TRY(run_programs(made, chosen_shapes));
  const double micro_batches = micro_batches_of(s, wanted, rows);
  for (const Program& p : programs)
    if (p.name.starts_with("train.") || p.name.starts_with("step."))
      flops = flops_of(p) * micro_batches;
  PlannedTime time;
  if (s.do_train) {
    const StepTimes times = step_times(programs, chosen_shapes, device);
    RunLength length = length_without_data(s, block);
    if (data) {
      seconds = HONE_TRY(mean_step_seconds(times, chosen_shapes.train, *data->feed, micro_batches));
      length = length_of(*data->feed, data->examples);
    } else {
      seconds = mean_step_seconds(times, micro_batches);
    }
    time = HONE_TRY(plan_time(made, length, fit.plan, seconds,
                              evaluation_seconds(times, chosen_shapes.eval, length.eval_rows),
                              device));
  }
  const PlacementSearch search{.model = made,
                               .backend = *backend,
                               .limits = limits,
                               .speeds = device,
                               .wanted_rows = wanted,
                               .shapes = shapes_for};
  Placements tried;
  if (list_choices) tried = HONE_TRY(try_placements(search));
  const SaveCopy copy = fit.rows > 0 && saves_beside_training(s)
                            ? plan_save_copy(s, fit.plan, saved_weights(config), device, limits)
                            : SaveCopy();
  const int64_t arena = fit.plan.arena_bytes();
  OrderedJson j;
  j["model"] = model.name;
  j["parameters"] = parameter_count(config);
  // A device with memory of its own has an image of inputs and outputs on the host.
  const int64_t host = kRuntimeBudget + stream + copy.bytes() + fit.plan.arena_bytes(Space::host) +
                       (device.own_memory ? fit.plan.io_bytes : 0);
  j["device"] = device.name;
  j["peak_bytes"] = {
      {"device", arena}, {"host", host}, {"disk", fit.plan.arena_bytes(Space::disk)}};
  j["by_purpose"] = fit.plan.by_purpose();
  if (copy.needed > 0) j["save_copy_bytes"] = copy.bytes();
  j["memory_bytes"] = memory + runtime;
  j["fits"] = fit.rows > 0;
  j[limit.flag] = block;
  j["micro_batch_rows"] = fit.rows;
  j["largest_micro_batch_rows"] = largest;
  j["micro_batches_per_step"] = wanted / rows * s.gradient_accumulation_steps;
  const Recomputed again = recomputed(programs);
  j["recompute"] = {{"nodes", again.nodes}, {"share_of_time", again.share}};
  if (one_more.device > 0)
    j["one_more_row"] = {{"rows", largest + 1}, {"peak_bytes", needs_json(one_more)}};
  j["flops_per_step"] = flops;
  j["seconds_per_step"] = seconds;
  if (s.do_train) j["time"] = time_json(s, time);
  Remedy remedy;
  if (fit.rows == 0) {
    remedy = HONE_TRY(remedy_for(search, runtime, fit));
    j["would_fit"] = {{"memory_bytes", remedy.memory_bytes}};
    if (remedy.placement) {
      const OrderedJson now = placement_json(Placement::of(s));
      const OrderedJson then = placement_json(*remedy.placement);
      for (const auto& [name, value] : then.items())
        if (now[name] != value) j["would_fit"][name] = value;
    }
    if (remedy.row_tokens > 0) j["would_fit"][limit.flag] = remedy.row_tokens;
  }
  if (list_choices) j["choices"] = placements_json(tried);
  const int status = fit.rows > 0 && !time.too_long ? kExitDone : kExitUserError;
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
                      format_bytes(arena), "runtime",
                      format_bytes(device.own_memory ? runtime : kRuntimeBudget),
                      device.own_memory ? "context and libraries" : "code, tokenizer, data");
  for (const Space space : {Space::host, Space::disk})
    if (const int64_t bytes = fit.plan.arena_bytes(space); bytes > 0)
      text += fmt::format("  {:<16} {:>12}\n", fmt::format("arena on {}", name_of(space)),
                          format_bytes(bytes));
  if (stream > 0 && here) text += fmt::format("  {:<16} {:>12}\n", "stream", format_bytes(stream));
  if (copy.needed > 0) text += fmt::format("  {:<16} {:>12}\n", "save copy", copy.text());
  if (const std::string full = full_host_text(fit.plan, s.offload()); !full.empty())
    text += full + "\n";
  if (fit.rows == 0) {
    if (limits.host == kNoLimit)
      text += fmt::format("does not fit: {} may be used, one row needs {}\n",
                          format_bytes(memory + runtime), format_bytes(remedy.memory_bytes));
    else
      text += fmt::format("does not fit with one row: {}\n",
                          excess_text(needs_of(fit.plan, device, limits), limits));
    const Kept kept = kept_by(fit.plan, device);
    std::vector<std::string> flags;
    if (remedy.row_tokens > 0)
      flags.push_back(fmt::format("--{} {}", limit.flag, remedy.row_tokens));
    if (remedy.placement) flags.push_back(remedy.placement->flags(Placement::of(s)));
    text += !flags.empty()
                ? fmt::format("  do   {} fits; or use more memory\n", join(flags, " or "))
                : fmt::format("  do   a smaller model or more memory: {} alone take {}\n",
                              kept.all > kept.states ? "weights, gradients and moments"
                                                     : "weights and moments",
                              format_bytes(kept.all));
  } else {
    text += fmt::format("fits into {}: micro-batches of {}; the largest that fits has {}{}\n",
                        limits_text(limits, runtime), count_of(fit.rows, "row"), grouped(largest),
                        largest == kMostRowsTried ? " or more" : "");
  }
  if (list_choices) text += placements_table(tried);
  if (again.nodes > 0) text += again.text() + "\n";
  const double speed = s.computes_in_bf16() ? device.bf16_flops : device.f32_flops;
  if (flops > 0 && here)
    text += fmt::format("{:.3g} FLOP in a step, about {:.3g} s at this machine's {:.0f} GFLOP/s\n",
                        flops, seconds, speed / 1e9);
  else if (flops > 0)
    text += fmt::format(
        "{:.3g} FLOP in a step, at least {:.3g} s by the data sheet of {}: {:.3g} "
        "TFLOP/s, {:.0f} GB/s\n",
        flops, seconds, device.name, speed / 1e12, device.bytes_per_second / 1e9);
  if (one_more.device > 0)
    text += fmt::format("{} in a micro-batch would take {}\n", count_of(largest + 1, "row"),
                        format_bytes(one_more.device + runtime));
  text += time_text(s, time);
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
