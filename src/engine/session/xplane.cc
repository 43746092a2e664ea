#include "engine/session/xplane.h"

#include <map>

#include "base/core/clock.h"
#include "base/core/protobuf.h"
#include "engine/ops/cost.h"
#include "engine/session/profile.h"

namespace hone {
namespace {

using namespace protobuf;

// Names of events and stats, numbered from 1.
class Names {
 public:
  int64_t id(const std::string& name) {
    return ids_.emplace(name, static_cast<int64_t>(ids_.size()) + 1).first->second;
  }
  // A map field of XPlane: {1 key, 2 XEventMetadata or XStatMetadata {1 id, 2 name}}.
  std::string map(int field) const {
    std::string all;
    for (const auto& [name, id] : ids_)
      all += bytes(field, number(1, id) + bytes(2, number(1, id) + bytes(2, name)));
    return all;
  }

 private:
  std::map<std::string, int64_t> ids_;
};

int64_t picoseconds(double seconds) { return static_cast<int64_t>(std::max(seconds, 0.0) * 1e12); }

}  // namespace

std::string xplane(const Session& session, const Profile& profile,
                   std::span<const ProfiledStep> steps, const std::string& host) {
  double origin = profile.nodes.empty() ? 0 : profile.nodes[0].begin;
  if (!steps.empty()) origin = std::min(origin, steps[0].begin);
  // Seconds of the steady clock, as time of day.
  const double wall = system_clock().wall_seconds() - system_clock().seconds() + origin;
  Names events, stats;
  const auto text_stat = [&](const char* name, std::string_view value) {
    return bytes(4, number(1, stats.id(name)) + bytes(5, value));
  };
  const auto speed_stat = [&](const char* name, double value) {
    return bytes(4, number(1, stats.id(name)) + real(2, value));
  };
  // XEvent: 1 metadata_id, 2 offset_ps, 3 duration_ps, 4 stats
  const auto event = [&](const std::string& name, double begin, double end,
                         const std::string& more) {
    return bytes(4, number(1, events.id(name)) + number(2, picoseconds(begin - origin)) +
                        number(3, picoseconds(end - begin)) + more);
  };
  const auto node_event = [&](const NodeRun& run, double begin, double end, bool speed) {
    const Program& p = session.programs()[run.program];
    const Node& n = p.nodes[run.node];
    std::string more = text_stat("scope", n.scope) + text_stat("phase", name_of(n.phase)) +
                       text_stat("kernel", session.choices(run.program)[run.node].id);
    if (speed) {
      const Cost cost = cost_of({p, n});
      const double seconds = std::max(1e-9, end - begin);
      more += speed_stat("GFLOP/s", cost.flops / seconds / 1e9) +
              speed_stat("GB/s", cost.bytes / seconds / 1e9);
    }
    return event(std::string(n.op->name), begin, end, more);
  };
  std::vector<std::string> lines(profile.threads.size() + 2);
  for (const ProfiledStep& s : steps)
    lines[0] += event(std::to_string(s.step), s.begin, s.end,
                      bytes(4, number(1, stats.id("group_id")) + number(4, s.step)));
  for (const NodeRun& run : profile.nodes) lines[1] += node_event(run, run.begin, run.end, true);
  for_each_span(profile, [&](size_t thread, const ThreadSpan& s, size_t node) {
    if (s.waiting)
      lines[thread + 1] += event("wait", s.begin, s.end, "");
    else if (thread > 0)
      lines[thread + 1] += node_event(profile.nodes[node], s.begin, s.end, false);
  });
  // XPlane: 1 id, 2 name, 3 lines, 4 event names, 5 stat names. XLine: 1 id, 2 name, 3
  // timestamp_ns, 4 events
  std::string plane = number(1, 1) + bytes(2, "/host:CPU");
  for (size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].empty())
      plane += bytes(3, number(1, static_cast<int64_t>(i)) +
                            bytes(2, i == 0 ? "Steps" : fmt::format("thread {}", i - 1)) +
                            number(3, static_cast<int64_t>(wall * 1e9)) + lines[i]);
  // Joined messages are one message that has the planes of both.
  return bytes(1, plane + events.map(4) + stats.map(5)) + bytes(4, host) + profile.of_device;
}

}  // namespace hone
