#include "engine/plan/cost_model.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/ops/cost.h"
#include "engine/plan/buffers.h"
#include "engine/plan/op_speeds.h"

namespace hone {

double seconds_of(const NodeView& n, const Speeds& speeds) {
  if (speeds.ops) return speeds.ops->seconds_of(n);
  const Cost cost = cost_of(n);
  const double flops = n.attrs().flag("bf16") ? speeds.bf16_flops : speeds.f32_flops;
  return std::max(flops > 0 ? cost.flops / flops : 0,
                  speeds.bytes_per_second > 0 ? cost.bytes / speeds.bytes_per_second : 0);
}

double seconds_of(const Program& p, const Speeds& speeds) {
  double sum = 0;
  for (const Node& n : p.nodes) sum += seconds_of({p, n}, speeds);
  return sum;
}

namespace {

double lane_speed(Lane lane, const Speeds& s) {
  if (lane == Lane::disk_read) return s.disk_read_bytes_per_second;
  if (lane == Lane::disk_write) return s.disk_write_bytes_per_second;
  if (lane == Lane::host_compute) return s.host_memory_bytes_per_second;
  return s.host_bytes_per_second;
}

// Seconds of a node on a lane other than compute.
double begun_seconds(const NodeView& n, const Speeds& speeds) {
  if (n.node.op->traffic) {
    const auto bytes = static_cast<double>(n.node.op->traffic(n));
    const double link = speeds.link_bytes_per_second;
    return bytes > 0 ? speeds.link_seconds + (link > 0 ? bytes / link : 0) : 0;
  }
  const double speed = lane_speed(n.node.lane, speeds);
  if (n.node.op->copies) return speed > 0 ? static_cast<double>(n.in(0).bytes()) / speed : 0;
  return speed > 0 ? cost_of(n).bytes / speed : seconds_of(n, speeds);
}

}  // namespace

int64_t traffic_of(const Program& p) {
  int64_t bytes = 0;
  for (const Node& n : p.nodes)
    if (n.op->traffic) bytes += n.op->traffic({p, n});
  return bytes;
}

double run_seconds(const Program& p, const Speeds& speeds) {
  std::array<double, kLaneCount> until{};           // when each lane is done with what it was given
  std::vector<double> ready(p.values.size(), 0.0);  // when a copy is done
  double& compute = until[static_cast<size_t>(Lane::compute)];
  for (const Node& n : p.nodes) {
    if (is_begun(n)) {
      double& lane = until[static_cast<size_t>(n.lane)];
      lane = std::max(lane, compute) + begun_seconds({p, n}, speeds);
      for (const ValueId v : n.out) ready[static_cast<size_t>(v)] = lane;
    } else if (n.op->waits) {
      compute = std::max(compute, ready[static_cast<size_t>(n.in[0])]);
    } else if (!is_view(p, n)) {
      compute += seconds_of({p, n}, speeds) + speeds.node_seconds;
    }
  }
  return *std::max_element(until.begin(), until.end());
}

}  // namespace hone
