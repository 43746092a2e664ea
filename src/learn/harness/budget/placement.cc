#include "learn/harness/budget/placement.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/rows/count_text.h"

namespace hone {
namespace {

// Bytes of states that a placement leaves on the device: the plan needs at least these. Weights in
// f32 leave the device with the optimizer if products read copies.
int64_t states_left(const RunPlan& plan, const TaskSettings& s) {
  const Offload to = s.offload();
  const bool masters_leave = (s.bf16 || s.fp16) && !s.pure_bf16() && to.moments != Space::device;
  int64_t bytes = 0;
  for (const StateSlot& slot : plan.states)
    if ((slot.role == Role::moment && to.moments == Space::device) ||
        (slot.role == Role::grad && to.gradients == Space::device) ||
        (slot.role == Role::param && to.params == Space::device && !masters_leave))
      bytes += slot.type.bytes();
  return bytes;
}

// In the order of their changes.
std::vector<Placement> placements(const Placement& base, const ArenaLimits& limits, bool trains) {
  std::vector<Placement> all{base};
  if (!trains) return all;
  const auto add = [&](const Placement& p) {
    if (std::find(all.begin(), all.end(), p) == all.end()) all.push_back(p);
  };
  Placement again = base;
  again.gradient_checkpointing = true;
  add(again);
  // If the host is the device, offloading to its memory frees nothing.
  const std::vector<std::string> kinds =
      limits.shared ? std::vector<std::string>{"nvme"} : std::vector<std::string>{"cpu", "nvme"};
  for (const std::string& kind : kinds) {
    Placement p = base;
    for (std::string Placement::*what :
         {&Placement::optimizer, &Placement::gradient, &Placement::param, &Placement::activation}) {
      if (p.*what == "none" || kind == "nvme") p.*what = kind;  // the host may be full too
      add(p);
      Placement both = p;
      both.gradient_checkpointing = true;
      add(both);
    }
  }
  return all;
}

}  // namespace

Placement Placement::of(const TaskSettings& s) {
  return {s.offload_optimizer_device, s.offload_gradient_device, s.offload_param_device,
          s.offload_activation_device, s.gradient_checkpointing};
}

void Placement::put_into(TaskSettings& s) const {
  s.offload_optimizer_device = optimizer;
  s.offload_gradient_device = gradient;
  s.offload_param_device = param;
  s.offload_activation_device = activation;
  s.gradient_checkpointing = gradient_checkpointing;
}

std::string Placement::flags(const Placement& base) const {
  std::vector<std::string> all;
  const auto add = [&](const char* what, std::string Placement::*is) {
    if (this->*is != base.*is)
      all.push_back(fmt::format("--offload_{}_device {}", what, this->*is));
  };
  add("optimizer", &Placement::optimizer);
  add("gradient", &Placement::gradient);
  add("param", &Placement::param);
  add("activation", &Placement::activation);
  if (gradient_checkpointing && !base.gradient_checkpointing)
    all.push_back("--gradient_checkpointing");
  return join(all, " ");
}

Task placed(const Task& task, const Placement& how) {
  Task other = task;
  other.settings = std::make_shared<TaskSettings>(*task.settings);
  how.put_into(*other.settings);
  return other;
}

double step_seconds(std::span<const Program> programs, double micro_batches, const Speeds& speeds) {
  double first = 0, more = 0, update = 0;
  for (const Program& p : programs) {
    const bool one = p.name.starts_with("step.") || p.name.starts_with("train.");
    if (one)
      first = run_seconds(p, speeds);
    else if (p.name.starts_with("accumulate."))
      more = run_seconds(p, speeds);
    else if (p.name == "update")
      update = run_seconds(p, speeds);
  }
  return first + std::max(0.0, micro_batches - 1) * (more > 0 ? more : first) + update;
}

double micro_batches_of(const TaskSettings& s, int64_t wanted_rows, int64_t rows) {
  return static_cast<double>(wanted_rows) / static_cast<double>(std::max<int64_t>(rows, 1)) *
         static_cast<double>(s.gradient_accumulation_steps);
}

Result<Placements> try_placements(const PlacementSearch& x) {
  const TaskSettings& s = x.model.settings();
  Placements found;
  bool enough = false;  // all rows at once, without recompute
  const Placement base = Placement::of(s);
  const RunPlan* as_is = nullptr;
  std::vector<Placement> order = placements(base, x.limits, s.do_train);
  found.tried.reserve(order.size());
  for (const Placement& how : order) {
    if (enough) break;
    TriedPlacement& t = found.tried.emplace_back();
    t.how = how;
    const Task task = placed(x.model.task, how);
    const TaskModel m = x.model.with(task);
    if (as_is != nullptr)
      if (const int64_t left = states_left(*as_is, *task.settings); left > x.limits.device) {
        t.needs.device = left;
        t.why = fmt::format("{} of states stay on the device", format_bytes(left));
        continue;
      }
    const ShapesOf shapes = [&](int64_t rows, bool whole) { return x.shapes(m, rows, whole); };
    t.fit = HONE_TRY(fit_run(m, x.backend, x.wanted_rows, x.limits, shapes, x.keep));
    if (as_is == nullptr) as_is = &t.fit.plan;
    t.needs = needs_of(t.fit.plan, x.backend.spec(), x.limits);
    if (t.fit.rows == 0) {
      t.why = excess_text(t.needs, x.limits);
      continue;
    }
    RunShapes chosen = shapes(t.fit.rows, t.fit.whole);
    chosen.budgets = t.fit.budgets;
    const std::vector<Program> programs = HONE_TRY(run_programs(m, chosen));
    t.seconds = step_seconds(programs, micro_batches_of(s, x.wanted_rows, t.fit.rows), x.speeds);
    t.again = recomputed(programs);
    // Prefer the placement with fewer changes if the times are nearly equal.
    if (!found.best || t.seconds < 0.99 * found.tried[*found.best].seconds)
      found.best = found.tried.size() - 1;
    enough = x.first_that_fits || (t.fit.rows >= x.wanted_rows && t.again.nodes == 0);
  }
  for (size_t i = 0; i < found.tried.size(); ++i) {
    TriedPlacement& t = found.tried[i];
    if (t.fit.rows == 0) continue;
    t.why = found.best == i ? "the fastest that fits"
            : t.seconds <= 1.01 * found.tried[*found.best].seconds
                ? "as fast, and changes more"
                : fmt::format("{:.3g} s slower", t.seconds - found.tried[*found.best].seconds);
  }
  return found;
}

std::string placements_table(const Placements& p) {
  std::string text = fmt::format("{:>5} {:>11} {:>11} {:>11} {:>9}  {}\n", "rows", "device", "host",
                                 "disk", "s/step", "choice: why");
  for (size_t i = 0; i < p.tried.size(); ++i) {
    const TriedPlacement& t = p.tried[i];
    const std::string flags = t.how.flags();
    text += fmt::format("{:>5} {:>11} {:>11} {:>11} {:>9}  {}: {}\n", t.fit.rows,
                        format_bytes(t.needs.device), format_bytes(t.needs.host),
                        format_bytes(t.needs.disk),
                        t.fit.rows > 0 ? fmt::format("{:.3g}", t.seconds) : "-",
                        flags.empty() ? "all on the device" : flags, t.why);
  }
  return text;
}

}  // namespace hone
