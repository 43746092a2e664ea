#include "learn/harness/budget/rank_report.h"

#include "base/core/text.h"
#include "learn/data/rows/count_text.h"

namespace hone {
namespace {

int64_t rows_in_step(const RankReport& r) {
  return r.group.count * r.settings->per_device_train_batch_size *
         r.settings->gradient_accumulation_steps;
}

int64_t host_bytes(const RankReport& r, const RankPlan& p) {
  return r.group.count * (p.bytes[Space::host] + kRuntimeBudget);
}

OrderedJson peak_json(const RankReport& r, const RankPlan& p) {
  return {{"device", p.bytes[Space::device]},
          {"host", host_bytes(r, p)},
          {"disk", r.group.count * p.bytes[Space::disk]}};
}

std::string layouts_table(const RankReport& r) {
  std::string text = fmt::format("{:>5} {:>11} {:>11} {:>11}  {}\n", "rows", "a device", "host",
                                 "disk", "layout: why");
  for (const RankPlan& p : r.tried)
    text += fmt::format("{:>5} {:>11} {:>11} {:>11}  {}: {}\n", p.rows,
                        format_bytes(p.bytes[Space::device]), format_bytes(host_bytes(r, p)),
                        format_bytes(r.group.count * p.bytes[Space::disk]), p.layout.text(), p.why);
  return text;
}

}  // namespace

OrderedJson RankReport::json() const {
  const RankPlan& last = tried.back();
  OrderedJson j;
  j["model"] = model;
  j["parameters"] = parameters;
  j["device"] = group.device.name;
  j["devices"] = group.count;
  j["layout"] = last.layout.text();
  j["zero_stage"] = last.layout.stage;
  j["peak_bytes"] = peak_json(*this, last);
  j["by_purpose"] = last.by_purpose;
  j["memory_bytes"] = limits.device + group.device.runtime_bytes;
  j["fits"] = fits();
  j[row.flag] = row.tokens;
  j["rows_per_step"] = rows_in_step(*this);
  j["micro_batch_rows"] = last.rows;
  j["flops_per_step"] = last.flops * static_cast<double>(group.count);
  j["seconds_per_step"] = last.seconds;
  j["tried"] = OrderedJson::array();
  for (const RankPlan& p : tried)
    j["tried"].push_back({{"layout", p.layout.text()},
                          {"micro_batch_rows", p.rows},
                          {"peak_bytes", peak_json(*this, p)},
                          {"why", p.why}});
  return j;
}

std::string RankReport::text() const {
  const RankPlan& last = tried.back();
  const int64_t n = group.count, runtime = group.device.runtime_bytes;
  std::string text =
      fmt::format("{}: {} parameters, rows of {}, {} in a step of {} devices\n", model, parameters,
                  count_of(row.tokens, "token"), count_of(rows_in_step(*this), "row"), n);
  text += layouts_table(*this);
  text += fmt::format("each of {} {}, {}:\n", n, group.device.name, last.layout.text());
  for (const auto& [purpose, bytes] : last.by_purpose)
    text += fmt::format("  {:<16} {:>12}\n", purpose, format_bytes(bytes));
  text +=
      fmt::format("  {:<16} {:>12}\n  {:<16} {:>12}  (budget of context and libraries)\n", "arena",
                  format_bytes(last.bytes[Space::device]), "runtime", format_bytes(runtime));
  if (fits())
    text += fmt::format("fits into {}: micro-batches of {} on each device\n",
                        limits_text(limits, runtime), count_of(last.rows, "row"));
  else
    text += fmt::format("does not fit: {}\n  do   more devices, more memory or a smaller model\n",
                        last.why);
  text += fmt::format(
      "assumed: what is cut is held by rows of the first axis, {} of each tensor; weights are "
      "gathered "
      "layer by layer; each device has its own micro-batches\n",
      n == 1 ? "all" : fmt::format("1/{}", n));
  return text + fmt::format("{:.3g} FLOP in a step, at least {:.3g} s by the data sheet of {}\n",
                            last.flops * static_cast<double>(n), last.seconds, group.device.name);
}

Result<RankReport> rank_report(const Task& task, const Pretrained& model,
                               const DeviceGroup& group) {
  const TaskModel made = HONE_TRY(TaskModel::make(task, model, group.device));
  RankReport r;
  static_cast<PlanSubject&>(r) = plan_subject(task, model, made);
  r.group = group;
  r.limits = limits_of(*task.settings, group.device, stream_bytes(*task.settings, r.row.tokens));
  const auto backend = HONE_TRY(plan_backend(group.device));
  r.tried =
      HONE_TRY(try_layouts(made, *backend, group.count, r.row.tokens, group.device, r.limits));
  return r;
}

}  // namespace hone
