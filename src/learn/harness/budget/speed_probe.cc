#include "learn/harness/budget/speed_probe.h"

#include "base/core/clock.h"
#include "engine/backends/backends.h"
#include "learn/harness/budget/machine_speeds.h"

namespace hone {

Probe probe_speed(int threads) {
  OrderedJson json;
  json["speed"] = OrderedJson();
  const auto backend = open_backend("cpu", {.threads = threads});
  const auto known = backend.ok() ? machine_speeds(**backend, {.measure = false}) : std::nullopt;
  if (!known)
    return {"speed", "not measured yet; hone plan and hone train measure it", "", std::move(json)};
  const Speeds& s = known->speeds;
  const bool bf16 = s.ops->find("matmul.nn.bf16") != nullptr;
  json["speed"] = {{"f32_flops", s.f32_flops},
                   {"bf16_flops", bf16 ? OrderedJson(s.bf16_flops) : OrderedJson()},
                   {"bytes_per_second", s.bytes_per_second},
                   {"file", speeds_file()}};
  return {"speed",
          fmt::format("{:.0f} GFLOP/s in products{}, {:.0f} GB/s of memory, as measured{}{} ({})",
                      s.f32_flops / 1e9,
                      bf16 ? fmt::format(", {:.0f} in bfloat16", s.bf16_flops / 1e9) : "",
                      s.bytes_per_second / 1e9,
                      known->measured_at > 0 ? " at " + format_utc(known->measured_at) : "",
                      known->doubtful ? " while other programs were busy: hone plan and hone train "
                                        "measure again ten minutes later"
                                      : "",
                      speeds_file()),
          "", std::move(json)};
}

}  // namespace hone
