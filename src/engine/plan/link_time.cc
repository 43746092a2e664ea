#include "engine/plan/link_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/core/threads.h"
#include "engine/ops/collective_parts.h"
#include "engine/ops/cost.h"
#include "engine/plan/buffers.h"

namespace hone {

LinkTraffic& LinkTraffic::operator+=(const LinkTraffic& other) {
  near_bytes += other.near_bytes;
  far_bytes += other.far_bytes;
  rounds += other.rounds;
  messages += other.messages;
  return *this;
}

LinkTraffic LinkTraffic::times(double n) const {
  return {n * near_bytes, n * far_bytes, n * rounds, n * messages};
}

// Sums come in rounds of limited scratch; those of all_reduce are sent back to all.
LinkTraffic link_traffic_of(const NodeView& n, int64_t near_ranks) {
  LinkTraffic t;
  const auto bytes = static_cast<double>(n.node.op->traffic(n));
  const auto ranks = static_cast<double>(share_of(n).ranks);
  if (bytes <= 0 || ranks <= 1) return t;
  const auto stride = static_cast<double>(n.integer("stride"));
  const double near =
      near_ranks > 0 ? std::clamp(std::floor(static_cast<double>(near_ranks) / stride), 1.0, ranks)
                     : ranks;
  t.near_bytes = bytes * (near - 1) / (ranks - 1);
  t.far_bytes = bytes - t.near_bytes;
  const int phases = n.node.op->name == "all_reduce" ? 2 : 1;
  t.rounds = n.node.op->gathers
                 ? 1
                 : phases * std::ceil(bytes / phases / static_cast<double>(kRoundBytes));
  t.messages = t.rounds * (ranks - 1);
  return t;
}

LinkTraffic link_traffic_of(const Program& p, int64_t near_ranks) {
  LinkTraffic t;
  for (const Node& n : p.nodes)
    if (n.op->traffic) t += link_traffic_of({p, n}, near_ranks);
  return t;
}

double seconds_of(const LinkTraffic& t, const LinkSpeeds& s) {
  const auto over = [](double bytes, double speed) { return speed > 0 ? bytes / speed : 0; };
  return t.rounds * (t.far_bytes > 0 ? std::max(s.far_seconds, s.near_seconds) : s.near_seconds) +
         t.messages * s.message_seconds +
         std::max(over(t.near_bytes, s.near_bytes_per_second),
                  over(t.far_bytes, s.far_bytes_per_second));
}

namespace {

double lane_speed(Lane lane, const Speeds& s) {
  if (lane == Lane::disk_read) return s.disk_read_bytes_per_second;
  if (lane == Lane::disk_write) return s.disk_write_bytes_per_second;
  if (lane == Lane::host_compute) return s.host_memory_bytes_per_second;
  return s.host_bytes_per_second;
}

// Seconds of a node on a lane other than compute, which is not a collective.
double begun_seconds(const NodeView& n, const Speeds& speeds) {
  const double speed = lane_speed(n.node.lane, speeds);
  if (n.node.op->copies) return speed > 0 ? static_cast<double>(n.in(0).bytes()) / speed : 0;
  return speed > 0 ? cost_of(n).bytes / speed : seconds_of(n, speeds);
}

double run_seconds_with(const Program& p, const Speeds& speeds,
                        FunctionRef<double(const NodeView&)> collective) {
  std::array<double, kLaneCount> until{};           // when each lane is done with what it was given
  std::vector<double> ready(p.values.size(), 0.0);  // when a copy is done
  double& compute = until[static_cast<size_t>(Lane::compute)];
  for (const Node& n : p.nodes) {
    if (is_begun(n)) {
      double& lane = until[static_cast<size_t>(n.lane)];
      lane = std::max(lane, compute) +
             (n.op->traffic ? collective({p, n}) : begun_seconds({p, n}, speeds));
      for (const ValueId v : n.out) ready[static_cast<size_t>(v)] = lane;
    } else if (n.op->waits) {
      compute = std::max(compute, ready[static_cast<size_t>(n.in[0])]);
    } else if (!is_view(p, n)) {
      compute += seconds_of({p, n}, speeds) + speeds.node_seconds;
    }
  }
  return *std::max_element(until.begin(), until.end());
}

}  // namespace

// Declared in cost_model.h: collectives have one link.
double run_seconds(const Program& p, const Speeds& speeds) {
  return run_seconds_with(p, speeds, [&](const NodeView& n) {
    const auto bytes = static_cast<double>(n.node.op->traffic(n));
    const double link = speeds.link_bytes_per_second;
    return bytes > 0 ? speeds.link_seconds + (link > 0 ? bytes / link : 0) : 0;
  });
}

double run_seconds(const Program& p, const Speeds& speeds, const LinkSpeeds& links) {
  return run_seconds_with(p, speeds, [&](const NodeView& n) {
    return seconds_of(link_traffic_of(n, links.near_ranks), links);
  });
}

}  // namespace hone
