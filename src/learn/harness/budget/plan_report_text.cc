// Prints a PlanReport as JSON and as text.
#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/budget/host_room.h"
#include "learn/harness/budget/plan_report.h"

namespace hone {
namespace {

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

OrderedJson remedy_json(const PlanReport& r) {
  OrderedJson j = {{"memory_bytes", r.remedy->memory_bytes}};
  if (r.remedy->placement) {
    const OrderedJson now = placement_json(Placement::of(*r.settings));
    const OrderedJson then = placement_json(*r.remedy->placement);
    for (const auto& [name, value] : then.items())
      if (now[name] != value) j[name] = value;
  }
  if (r.remedy->row_tokens > 0) j[r.row.flag] = r.remedy->row_tokens;
  return j;
}

std::string memory_line(const std::string& what, const std::string& value) {
  return fmt::format("  {:<16} {:>12}\n", what, value);
}

std::string memory_text(const PlanReport& r) {
  const RunPlan& plan = r.fit.plan;
  std::string text;
  for (const auto& [purpose, bytes] : plan.by_purpose())
    if (bytes > 0) text += memory_line(purpose, format_bytes(bytes));
  text += memory_line("arena", format_bytes(plan.arena_bytes()));
  text += fmt::format("  {:<16} {:>12}  (budget of {})\n", "runtime",
                      format_bytes(r.device.own_memory ? r.runtime_bytes : kRuntimeBudget),
                      r.device.own_memory ? "context and libraries" : "code, tokenizer, data");
  for (const Space space : {Space::host, Space::disk})
    if (const int64_t bytes = plan.arena_bytes(space); bytes > 0)
      text += memory_line(fmt::format("arena on {}", name_of(space)), format_bytes(bytes));
  if (r.stream_bytes > 0 && r.is_here) text += memory_line("stream", format_bytes(r.stream_bytes));
  if (r.copy.needed > 0) text += memory_line("save copy", r.copy.text());
  if (const std::string full = full_host_text(plan, r.settings->offload()); !full.empty())
    text += full + "\n";
  return text;
}

std::string largest_text(const PlanReport& r) {
  if (r.all_rows_fit())
    return fmt::format("all {} of the data fit in one", count_of(r.data_rows, "row"));
  return fmt::format("the largest that fits has {}{}", grouped(r.largest_rows),
                     r.largest_rows == kMostRowsTried ? " or more" : "");
}

std::string no_fit_text(const PlanReport& r) {
  const PlanRemedy& remedy = *r.remedy;
  std::string text =
      r.limits.host == kNoLimit
          ? fmt::format("does not fit: {} may be used, one row needs {}\n",
                        format_bytes(r.limits.device + r.runtime_bytes),
                        format_bytes(remedy.memory_bytes))
          : fmt::format("does not fit with one row: {}\n",
                        excess_text(needs_of(r.fit.plan, r.device, r.limits), r.limits));
  std::vector<std::string> flags;
  if (remedy.row_tokens > 0) flags.push_back(fmt::format("--{} {}", r.row.flag, remedy.row_tokens));
  if (remedy.placement) flags.push_back(remedy.placement->flags(Placement::of(*r.settings)));
  if (!flags.empty())
    return text + fmt::format("  do   {} fits; or use more memory\n", join(flags, " or "));
  return text + fmt::format("  do   a smaller model or more memory: {} alone take {}\n",
                            remedy.kept.all > remedy.kept.states ? "weights, gradients and moments"
                                                                 : "weights and moments",
                            format_bytes(remedy.kept.all));
}

}  // namespace

std::string step_text(const PlanSubject& of, const DeviceSpec& device, double flops, double seconds,
                      const char* by) {
  const double speed = of.settings->computes_in_bf16() ? device.bf16_flops
                       : of.settings->fp16             ? device.f16_flops
                                                       : device.f32_flops;
  if (flops <= 0) return "";
  const char* step = of.data_rows > 0 ? "a step of the data" : "a step";
  if (of.is_here)
    return fmt::format("{:.3g} FLOP in {}{}, about {:.3g} s at this machine's {:.0f} GFLOP/s\n",
                       flops, step, by, seconds, speed / 1e9);
  return fmt::format(
      "{:.3g} FLOP in {}{}, at least {:.3g} s by the data sheet of {}: {:.3g} TFLOP/s, {:.0f} "
      "GB/s\n",
      flops, step, by, seconds, device.name, speed / 1e12, device.bytes_per_second / 1e9);
}

std::string PlanSubject::few_rows_text(int64_t step_rows) const {
  if (data_rows <= 0 || data_rows >= step_rows) return "";
  return fmt::format("the data have {}, so no step has {}\n", count_of(data_rows, "row"),
                     grouped(step_rows));
}

std::string limits_text(const ArenaLimits& limits, int64_t runtime_bytes) {
  std::string text = format_bytes(limits.device + runtime_bytes);
  if (limits.host != kNoLimit)
    text += fmt::format(" of the device and {} of the host",
                        format_bytes(limits.host + kRuntimeBudget));
  return text;
}

OrderedJson PlanReport::json() const {
  OrderedJson j;
  j["model"] = model;
  j["parameters"] = parameters;
  // A device with memory of its own has an image of inputs and outputs on the host.
  const int64_t host = kRuntimeBudget + stream_bytes + copy.bytes() +
                       fit.plan.arena_bytes(Space::host) +
                       (device.own_memory ? fit.plan.io_bytes : 0);
  j["device"] = device.name;
  j["peak_bytes"] = {{"device", fit.plan.arena_bytes()},
                     {"host", host},
                     {"disk", fit.plan.arena_bytes(Space::disk)}};
  j["by_purpose"] = fit.plan.by_purpose();
  if (copy.needed > 0) j["save_copy_bytes"] = copy.bytes();
  j["memory_bytes"] = limits.device + runtime_bytes;
  j["fits"] = fit.rows > 0;
  if (of_tokens)
    j[row.flag] = row.tokens;
  else
    j["row"] = row_size;
  j["micro_batch_rows"] = fit.rows;
  j["largest_micro_batch_rows"] = largest_rows;
  j["micro_batches_per_step"] =
      wanted_rows / std::max<int64_t>(fit.rows, 1) * settings->gradient_accumulation_steps;
  j["recompute"] = {{"nodes", again.nodes}, {"share_of_time", again.share}};
  if (one_more_row.device > 0)
    j["one_more_row"] = {{"rows", largest_rows + 1}, {"peak_bytes", needs_json(one_more_row)}};
  j["flops_per_step"] = flops;
  j["seconds_per_step"] = seconds;
  if (settings->do_train) j["time"] = time_json(*settings, time);
  if (remedy) j["would_fit"] = remedy_json(*this);
  if (choices) j["choices"] = placements_json(*choices);
  return j;
}

std::string PlanReport::text() const {
  std::string text =
      fmt::format("{}: {} parameters, rows of {}, {} in a step\n", model, parameters, row_size,
                  count_of(wanted_rows * settings->gradient_accumulation_steps, "row"));
  if (settings->do_train)
    text += few_rows_text(wanted_rows * settings->gradient_accumulation_steps);
  text += memory_text(*this);
  if (remedy)
    text += no_fit_text(*this);
  else
    text +=
        fmt::format("fits into {}: micro-batches of {}; {}\n", limits_text(limits, runtime_bytes),
                    count_of(fit.rows, "row"), largest_text(*this));
  if (choices) text += placements_table(*choices);
  if (again.nodes > 0) text += again.text() + "\n";
  text += step_text(*this, device, flops, seconds, "");
  if (one_more_row.device > 0)
    text += fmt::format("{} in a micro-batch would take {}\n", count_of(largest_rows + 1, "row"),
                        format_bytes(one_more_row.device + runtime_bytes));
  return text + time_text(*settings, time);
}

}  // namespace hone
