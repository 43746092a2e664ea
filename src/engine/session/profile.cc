#include "engine/session/profile.h"

#include <algorithm>

#include "base/core/clock.h"
#include "base/core/json.h"
#include "engine/ops/cost.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

// Best of a few runs of a program's nodes, in seconds, without copies of its inputs and outputs.
Result<double> best_seconds(Program program, const Backend& backend) {
  std::vector<Program> one;
  one.push_back(std::move(program));
  Session s = HONE_TRY(Session::compile(std::move(one), backend));
  HONE_TRY(s.allocate());
  double best = 1e300;
  for (int i = 0; i < 5; ++i) {
    Profile profile;
    s.profile_into(&profile);
    s.run(0);
    s.profile_into(nullptr);
    double seconds = 0;
    for (const auto& n : profile.nodes) seconds += n.end - n.begin;
    best = std::min(best, seconds);
  }
  HONE_TRY(s.check());
  return best;
}

// A square product; operands in bf16 where the device's own memory holds them so.
Program product_of(int64_t side, bool bf16, bool in_bf16) {
  Program p(op_table(), "product");
  Builder b(p);
  const ValueId x = p.add_input("x", {in_bf16 ? DType::bf16 : DType::f32, {side, side}});
  p.outputs.push_back(
      {"y", ops::matmul(b, x, x, false, false, bf16 && !in_bf16 ? DType::bf16 : DType::f32)});
  return p;
}
Program sum_of(int64_t count) {
  Program p(op_table(), "sum");
  Builder b(p);
  const ValueId x = p.add_input("x", {DType::f32, {count}}),
                y = p.add_input("y", {DType::f32, {count}});
  p.outputs.push_back({"z", ops::add(b, x, y)});
  return p;
}

// make(size) with twice the size until it takes long enough to be measured, or the size is `most`;
// returns what units(size) takes in a second.
template <class Make, class Units>
Result<double> speed_of(int64_t size, int64_t most, const Backend& backend, const Make& make,
                        const Units& units) {
  constexpr double kLongEnough = 2e-3;
  while (true) {
    const double seconds = HONE_TRY(best_seconds(make(size), backend));
    if (seconds >= kLongEnough || size >= most) return units(size) / seconds;
    size *= 2;
  }
}

}  // namespace

Result<MachineLimits> measure_limits(const Backend& backend, bool bf16) {
  constexpr int64_t kSide = 2048, kCount = int64_t{1} << 24;  // on a CPU
  constexpr int64_t kMostSide = 8192, kMostCount = int64_t{1} << 28;
  const bool is_host = backend.device().host_memory();
  const double flops = HONE_TRY(speed_of(
      is_host ? kSide : kSide / 8, is_host ? kSide : kMostSide, backend,
      [&](int64_t side) { return product_of(side, bf16, bf16 && !is_host); },
      [](int64_t side) { return 2.0 * static_cast<double>(side * side * side); }));
  const double bytes = HONE_TRY(
      speed_of(is_host ? kCount : kCount / 256, is_host ? kCount : kMostCount, backend, sum_of,
               [](int64_t count) { return 3.0 * 4 * static_cast<double>(count); }));
  return MachineLimits{flops, bytes};
}

std::vector<OpTime> times_by_op(const Session& session, const Profile& profile) {
  // A thread works while it is in a call of the pool and does not wait; the caller (thread 0) also
  // works between the calls of a node.
  std::vector<double> work(profile.nodes.size());
  for (size_t i = 0; i < work.size(); ++i) work[i] = profile.nodes[i].end - profile.nodes[i].begin;
  for_each_span(profile, [&](size_t thread, const ThreadSpan& s, size_t node) {
    const double seconds = std::min(s.end, profile.nodes[node].end) - s.begin;
    if (s.waiting)
      work[node] -= seconds;
    else if (thread > 0)
      work[node] += seconds;
  });
  std::map<std::pair<std::string, std::string>, OpTime> all;
  for (size_t i = 0; i < work.size(); ++i) {
    const NodeRun& run = profile.nodes[i];
    const Program& p = session.programs()[run.program];
    const Node& n = p.nodes[run.node];
    OpTime& sum = all[{std::string(name_of(n.phase)), n.op->name}];
    const Cost cost = cost_of({p, n});
    ++sum.runs;
    sum.launches += session.choices(run.program)[run.node].launches;
    sum.seconds += run.end - run.begin;
    sum.flops += cost.flops;
    sum.bytes += cost.bytes;
    sum.busy += work[i];
  }
  const auto threads = static_cast<double>(std::max<size_t>(1, profile.threads.size()));
  std::vector<OpTime> rows;
  for (auto& [key, sum] : all) {
    sum.phase = key.first;
    sum.op = key.second;
    sum.busy = sum.seconds > 0 ? std::clamp(sum.busy / (threads * sum.seconds), 0.0, 1.0) : 0;
    rows.push_back(std::move(sum));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
  return rows;
}

std::string profile_table(const Session& session, const Profile& profile,
                          const MachineLimits& limits, int64_t steps) {
  const std::vector<OpTime> rows = times_by_op(session, profile);
  double all = 0, least = 0;
  for (const OpTime& r : rows) all += r.seconds;
  std::string text =
      fmt::format("limits: matmul {:.1f} GFLOP/s, memory {:.1f} GB/s\n", limits.flops / 1e9,
                  limits.bytes / 1e9) +
      fmt::format("{:<9} {:<22} {:>6} {:>9} {:>7} {:>9} {:>8} {:>9} {:>6}\n", "phase", "op", "runs",
                  "ms", "share", "GFLOP/s", "GB/s", "of limit", "busy");
  auto line = [&](const std::string& phase, const std::string& op, double runs, double seconds,
                  double flops, double bytes, double limit, double busy) {
    text += fmt::format(
        "{:<9} {:<22} {:>6.0f} {:>9.3f} {:>6.1f}% {:>9.1f} {:>8.2f} {:>8.0f}% {:>5.0f}%\n", phase,
        op, runs, 1e3 * seconds, 100 * seconds * static_cast<double>(steps) / all,
        flops / seconds / 1e9, bytes / seconds / 1e9, 100 * limit / seconds, 100 * busy);
  };
  const auto s = static_cast<double>(std::max<int64_t>(1, steps));
  double flops = 0, bytes = 0, busy = 0;
  for (const OpTime& r : rows) {
    const double limit = std::max(r.flops / limits.flops, r.bytes / limits.bytes) / s;
    least += limit;
    flops += r.flops / s;
    bytes += r.bytes / s;
    busy += r.busy * r.seconds;
    line(r.phase, r.op, static_cast<double>(r.runs) / s, r.seconds / s, r.flops / s, r.bytes / s,
         limit, r.busy);
  }
  if (all > 0)
    line("a step", "", static_cast<double>(profile.nodes.size()) / s, all / s, flops, bytes, least,
         busy / all);
  return text;
}

std::string chrome_trace(const Session& session, const Profile& profile) {
  OrderedJson events = OrderedJson::array();
  const double origin = profile.nodes.empty() ? 0 : profile.nodes[0].begin;
  auto microseconds = [](double s) { return std::round(s * 1e9) / 1e3; };
  for (size_t t = 0; t < profile.threads.size(); ++t)
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", t},
                      {"args", {{"name", fmt::format("thread {}", t)}}}});
  auto slice = [&](size_t thread, const NodeRun& run, double begin, double end, bool waiting) {
    const Program& p = session.programs()[run.program];
    const Node& n = p.nodes[run.node];
    const Cost cost = cost_of({p, n});
    OrderedJson args = {{"program", p.name},
                        {"scope", n.scope},
                        {"kernel", session.choices(run.program)[run.node].id}};
    if (!waiting && thread == 0) {
      const double seconds = std::max(1e-9, end - begin);
      args["GFLOP/s"] = std::round(cost.flops / seconds / 1e7) / 100;
      args["GB/s"] = std::round(cost.bytes / seconds / 1e7) / 100;
    }
    events.push_back({{"name", waiting ? "wait" : n.op->name},
                      {"cat", waiting ? "wait" : name_of(n.phase)},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", thread},
                      {"ts", microseconds(begin - origin)},
                      {"dur", microseconds(end - begin)},
                      {"args", std::move(args)}});
  };
  for (const NodeRun& run : profile.nodes) slice(0, run, run.begin, run.end, false);
  for_each_span(profile, [&](size_t thread, const ThreadSpan& s, size_t node) {
    if (thread > 0 || s.waiting) slice(thread, profile.nodes[node], s.begin, s.end, s.waiting);
  });
  OrderedJson trace;
  trace["displayTimeUnit"] = "ms";
  trace["traceEvents"] = std::move(events);
  return dump_json(trace) + "\n";
}

}  // namespace hone
