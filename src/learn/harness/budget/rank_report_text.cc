// Prints a RankReport as JSON and as text.
#include <algorithm>

#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/budget/rank_report.h"

namespace hone {
namespace {

int64_t host_bytes(const RankPlan& p) { return p.needs.host + kRuntimeBudget; }

// Bytes of a rank.
OrderedJson peak_json(const RankPlan& p) {
  return {{"device", p.needs.device}, {"host", host_bytes(p)}, {"disk", p.needs.disk}};
}

// "13 machines of 8 A100-80GB", "8 A100-80GB".
std::string devices_text(const Cluster& g) {
  const std::string devices = fmt::format("{} {}", g.count, g.device.name);
  return g.machines == 1 ? devices : fmt::format("{} machines of {}", g.machines, devices);
}

std::string bytes_text(double bytes) { return format_bytes(static_cast<int64_t>(bytes)); }

std::string table_head() {
  return fmt::format("{:>4} {:>9} {:>10} {:>10} {:>8} {:>5}  {}\n", "rows", "a rank", "in machine",
                     "to others", "s a step", "eff.", "layout");
}

std::string plan_line(const RankReport& r, const RankPlan& p) {
  const std::string layout = p.layout.text(r.cluster) + (p.layout.by_formula() ? " *" : "");
  if (!p.fits()) {
    const bool elsewhere = p.needs.host > r.limits.host || p.needs.disk > r.limits.disk;
    return fmt::format(
        "{:>4} {:>9} {:>36}  {}\n", p.layout.rows, format_bytes(p.needs.device),
        elsewhere ? "" : fmt::format("{} may be used", format_bytes(r.limits.device)),
        elsewhere ? fmt::format("{}: {}", layout, p.why) : layout);
  }
  return fmt::format("{:>4} {:>9} {:>10} {:>10} {:>8.3g} {:>4.0f}%  {}\n", p.fit.rows,
                     format_bytes(p.needs.device), bytes_text(p.sent.near_bytes),
                     bytes_text(p.sent.far_bytes), p.seconds, 100 * p.efficiency(), layout);
}

std::string layouts_text(const RankReport& r) {
  std::string text = table_head();
  for (const RankPlan& p : r.layouts.tried) text += plan_line(r, p);
  for (const RankPlan& p : r.layouts.smaller) text += plan_line(r, p);
  if (std::any_of(r.layouts.tried.begin(), r.layouts.tried.end(),
                  [](const RankPlan& p) { return p.layout.by_formula(); }))
    text += "  *: by formula, for comparison\n";
  return text;
}

std::string purposes_text(const RankReport& r) {
  const RankPlan& p = r.layouts.shown();
  std::string text = fmt::format("each rank, with {}:\n", p.layout.text(r.cluster));
  const auto line = [&](const std::string& name, const PerSpace<int64_t>& bytes) {
    text += fmt::format("  {:<16} {:>12}", name, format_bytes(bytes[Space::device]));
    for (const Space space : {Space::host, Space::disk})
      if (bytes[space] > 0)
        text += fmt::format("  {} on {}", format_bytes(bytes[space]), name_of(space));
    text += "\n";
  };
  for (const auto& [purpose, bytes] : bytes_by_purpose(p.fit.plan)) line(purpose, bytes);
  PerSpace<int64_t> arena;
  for (const Space space : kSpaces) arena[space] = p.fit.plan.arena_bytes(space);
  line("arena", arena);
  if (p.code_bytes > 0)
    text += fmt::format("  {:<16} {:>12}  machine code of all programs, by their products\n",
                        "code", format_bytes(p.code_bytes));
  return text + fmt::format("  {:<16} {:>12}  (budget of {})\n", "runtime",
                            format_bytes(r.runtime_bytes),
                            r.cluster.device.own_memory ? "context and libraries"
                                                        : "code, tokenizer, data");
}

std::string tiles_text(const RankReport::Tiles& t) {
  std::string text =
      fmt::format("  {:<16} {:>12}  states in tiles of 8 x 128 elements, {} more\n", "in tiles",
                  format_bytes(t.tiled), format_bytes(t.tiled - t.bytes));
  if (!t.worst.empty())
    text += fmt::format("  most by {}: multiples of 128 waste nothing\n", t.worst);
  return text;
}

std::string copies_text(const MemoryCopies& c) {
  std::string text = fmt::format("  {:<16} {:>12}  of machines, at most: {} in ", "memory copies",
                                 format_bytes(c.bytes()), format_bytes(c.part));
  text += c.machines == 1 ? "its own" : count_of(c.machines, "machine");
  text += ", and as much while the next is made";
  if (c.sent() > 0) text += fmt::format("; {} sent for each", format_bytes(c.sent()));
  return text + "\n";
}

// A program's bytes on a device, by its compiler, beside those of hone's plan.
std::string compiled_text(const AheadMemory& m) {
  return fmt::format(
      "  {:<16} {:>12}  by libtpu, {} by hone ({} of code): {} of arguments, {} of results ({} in "
      "their place), {} of temporary memory, {} of code; compiled in {:.0f} s\n",
      m.program, format_bytes(m.device_bytes()), format_bytes(m.planned_bytes),
      format_bytes(m.planned_code_bytes), format_bytes(m.argument_bytes),
      format_bytes(m.output_bytes), format_bytes(m.alias_bytes), format_bytes(m.temporary_bytes),
      format_bytes(m.code_bytes), m.seconds);
}

OrderedJson compiled_json(const AheadMemory& m) {
  return {{"program", m.program},
          {"bytes", m.device_bytes()},
          {"planned_bytes", m.planned_bytes},
          {"planned_code_bytes", m.planned_code_bytes},
          {"argument_bytes", m.argument_bytes},
          {"output_bytes", m.output_bytes},
          {"alias_bytes", m.alias_bytes},
          {"temporary_bytes", m.temporary_bytes},
          {"code_bytes", m.code_bytes},
          {"text_bytes", m.text_bytes},
          {"compile_seconds", m.seconds}};
}

std::string traffic_text(const RankReport& r) {
  const RankPlan& p = r.layouts.shown();
  std::string text = fmt::format("sent in a step: {} by each rank to others of its machine",
                                 bytes_text(p.sent.near_bytes));
  if (r.cluster.machines > 1)
    text += fmt::format(", {} by each machine to others",
                        bytes_text(p.sent.far_bytes * static_cast<double>(r.cluster.count)));
  if (p.tensor_bytes > 0)
    text += fmt::format("; by a rank {} along the axis tensor and {} along data",
                        bytes_text(p.tensor_bytes),
                        bytes_text(p.sent.near_bytes + p.sent.far_bytes - p.tensor_bytes));
  return text + fmt::format("; {} by a rank\n",
                            count_of(static_cast<int64_t>(p.sent.messages), "message"));
}

std::string scales_text(const RankReport& r) {
  if (r.layouts.scales.size() < 2) return "";
  std::string text = fmt::format("{:>8} {:>7} {:>9} {:>12} {:>7}  {}\n", "machines", "devices",
                                 "s a step", "rows/second", "scaling", "layout");
  for (const Scale& s : r.layouts.scales) {
    text += fmt::format("{:>8} {:>7}", s.cluster.machines, s.cluster.all());
    text += s.plan.fits() ? fmt::format(" {:>9.3g} {:>12} {:>6.0f}%  {}\n", s.plan.seconds,
                                        rate_text(s.plan.rows_per_second()),
                                        100 * r.layouts.scaling(s), s.plan.layout.text(s.cluster))
                          : " does not fit\n";
  }
  return text;
}

OrderedJson plan_json(const RankReport& r, const RankPlan& p) {
  return {{"layout", p.layout.text(r.cluster)},
          {"mesh", p.layout.mesh(r.cluster)},
          {"zero_stage", p.layout.stage},
          {"mics_shard_size", p.layout.group},
          {"by_formula", p.layout.by_formula()},
          {"micro_batch_rows", p.fit.rows},
          {"peak_bytes", peak_json(p)},
          {"sent_in_machine_bytes", p.sent.near_bytes},
          {"sent_between_machines_bytes", p.sent.far_bytes},
          {"sent_along_tensor_bytes", p.tensor_bytes},
          {"messages", p.sent.messages},
          {"seconds_per_step", p.seconds},
          {"efficiency", p.efficiency()},
          {"rows_per_second", p.rows_per_second()},
          {"why", p.why}};
}

OrderedJson spaces_json(const RankPlan& p) {
  OrderedJson j = OrderedJson::object();
  for (const auto& [purpose, bytes] : bytes_by_purpose(p.fit.plan))
    for (const Space space : kSpaces)
      if (bytes[space] > 0) j[std::string(name_of(space))][purpose] = bytes[space];
  if (p.code_bytes > 0) j["device"]["code"] = p.code_bytes;
  return j;
}

}  // namespace

OrderedJson RankReport::json() const {
  const RankPlan& shown = layouts.shown();
  OrderedJson j;
  j["model"] = model;
  j["parameters"] = parameters;
  j["device"] = cluster.device.name;
  j["devices"] = cluster.all();
  j["machines"] = cluster.machines;
  j.update(plan_json(*this, shown));
  j["by_purpose"] = shown.fit.plan.by_purpose();
  j["bytes"] = spaces_json(shown);
  j["memory_bytes"] = limits.device == kNoLimit ? kNoLimit : limits.device + runtime_bytes;
  j["fits"] = fits();
  if (of_tokens)
    j[row.flag] = row.tokens;
  else
    j["row"] = row_size;
  j["rows_per_step"] = step_rows();
  j["flops_per_step"] = shown.flops * static_cast<double>(cluster.all());
  j["links"] = links.figures;
  for (const char* list : {"tried", "smaller_micro_batches", "scales"})
    j[list] = OrderedJson::array();
  for (const RankPlan& p : layouts.tried) j["tried"].push_back(plan_json(*this, p));
  for (const RankPlan& p : layouts.smaller)
    j["smaller_micro_batches"].push_back(plan_json(*this, p));
  for (const Scale& s : layouts.scales)
    j["scales"].push_back({{"machines", s.cluster.machines},
                           {"devices", s.cluster.all()},
                           {"seconds_per_step", s.plan.seconds},
                           {"rows_per_second", s.plan.rows_per_second()},
                           {"efficiency", s.plan.efficiency()},
                           {"scaling", s.plan.fits() ? layouts.scaling(s) : 0}});
  if (tiles) j["tiles"] = {{"state_bytes", tiles->bytes}, {"tiled_bytes", tiles->tiled}};
  if (copies)
    j["memory_copies"] = {{"part_bytes", copies->part},
                          {"machines", copies->machines},
                          {"bytes", copies->bytes()},
                          {"sent_bytes", copies->sent()}};
  if (!compiled.empty()) j["compiled"] = OrderedJson::array();
  for (const AheadMemory& m : compiled) j["compiled"].push_back(compiled_json(m));
  if (layouts.best) j["time"] = time_json(*settings, shown.time);
  j["warnings"] = warnings;
  return j;
}

std::string RankReport::text() const {
  const RankPlan& shown = layouts.shown();
  std::string text = fmt::format("{}: {} parameters, rows of {}, {} in a step of {} ranks: {}\n",
                                 model, parameters, row_size, count_of(step_rows(), "row"),
                                 cluster.all(), devices_text(cluster));
  text += few_rows_text(step_rows());
  for (const std::string& figure : links.figures) text += fmt::format("  {}\n", figure);
  text += layouts_text(*this);
  text += purposes_text(*this);
  if (tiles) text += tiles_text(*tiles);
  if (copies) text += copies_text(*copies);
  for (const AheadMemory& m : compiled) text += compiled_text(m);
  if (layouts.best) {
    text += traffic_text(*this);
    text += scales_text(*this);
    text += fmt::format(
        "best: {}, micro-batches of {}: {:.3g} s a step, {} rows a second, {:.0f} % of a step "
        "computes\n",
        shown.layout.text(cluster), count_of(shown.fit.rows, "row"), shown.seconds,
        rate_text(shown.rows_per_second()), 100 * shown.efficiency());
  } else {
    text += fmt::format(
        "does not fit into {}: {}\n  do   more devices, more memory or a smaller model\n",
        limits_text(limits, runtime_bytes), shown.why);
  }
  if (layouts.faster) {
    const RankPlan& p = layouts.tried[*layouts.faster];
    const bool runs = p.layout.tensor > 1 && p.layout.pipeline == 1;
    text += fmt::format("by formula {} would take {:.3g} s a step; {}\n", p.layout.text(cluster),
                        p.seconds,
                        runs ? fmt::format("--mesh {} plans its programs", p.layout.mesh(cluster))
                             : "hone train does not run it");
  }
  if (layouts.best) {
    text += step_text(*this, cluster.device, shown.flops, shown.seconds, " by each rank");
    text += time_text(*settings, shown.time);
  }
  for (const std::string& warning : warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace hone
