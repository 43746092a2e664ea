#include "engine/plan/plan.h"

#include <algorithm>

#include "engine/plan/buffers.h"
#include "engine/plan/errors.h"
#include "engine/plan/offsets.h"

namespace hone {
namespace {

int64_t round_up(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

struct Region {
  std::vector<Lifetime> lifetimes;
  std::vector<int32_t> of_buffer;  // buffer -> index in lifetimes, or -1
  std::vector<int32_t> of_node;    // node -> index of its workspace, or -1
};

Region transients(const PlanInput& in, const Buffers& buffers) {
  Region r;
  for (const Buffers::Buffer& b : buffers.all) {
    bool transient = b.state < 0 && b.bytes > 0;
    r.of_buffer.push_back(transient ? static_cast<int32_t>(r.lifetimes.size()) : -1);
    if (transient) r.lifetimes.push_back({round_up(b.bytes, kBufferAlignment), b.first, b.last});
  }
  for (size_t i = 0; i < in.program->nodes.size(); ++i) {
    int64_t bytes = i < in.workspace_bytes.size() ? in.workspace_bytes[i] : 0;
    r.of_node.push_back(bytes > 0 ? static_cast<int32_t>(r.lifetimes.size()) : -1);
    if (bytes > 0)
      r.lifetimes.push_back(
          {round_up(bytes, kBufferAlignment), static_cast<int32_t>(i), static_cast<int32_t>(i)});
  }
  return r;
}

ProgramPlan plan_program(const PlanInput& in, const Buffers& buffers,
                         const std::vector<int64_t>& state_offset, int64_t base) {
  const Program& p = *in.program;
  Region r = transients(in, buffers);
  ProgramPlan plan;
  plan.transient_bytes = assign_offsets(r.lifetimes);
  int32_t peak = 0;
  plan.live_bytes = most_alive(r.lifetimes, &peak);
  plan.peak_node = static_cast<size_t>(std::max(peak, 0));
  plan.offset.assign(p.values.size(), -1);
  for (size_t v = 0; v < p.values.size(); ++v) {
    const Storage s = buffers.of[v];
    if (s.buffer < 0) continue;
    const Buffers::Buffer& b = buffers.all[static_cast<size_t>(s.buffer)];
    if (b.state >= 0)
      plan.offset[v] = state_offset[static_cast<size_t>(b.state)] + s.offset;
    else if (int32_t at = r.of_buffer[static_cast<size_t>(s.buffer)]; at >= 0)
      plan.offset[v] = base + r.lifetimes[static_cast<size_t>(at)].offset + s.offset;
    else
      plan.offset[v] = base;  // an empty tensor
  }
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    int32_t at = r.of_node[i];
    plan.workspace_offset.push_back(at >= 0 ? base + r.lifetimes[static_cast<size_t>(at)].offset
                                            : base);
    if (at >= 0 && i == plan.peak_node)
      plan.workspace_bytes = r.lifetimes[static_cast<size_t>(at)].bytes;
  }
  const auto backward =
      static_cast<int32_t>(std::find_if(p.nodes.begin(), p.nodes.end(),
                                        [](const Node& n) { return n.phase == Phase::backward; }) -
                           p.nodes.begin());
  for (size_t k = 0; k < buffers.all.size(); ++k) {
    const Buffers::Buffer& b = buffers.all[k];
    if (r.of_buffer[k] >= 0 && b.first >= 0 && b.first < backward && b.last >= backward &&
        b.first <= peak && peak <= b.last)
      plan.kept_bytes += r.lifetimes[static_cast<size_t>(r.of_buffer[k])].bytes;
  }
  return plan;
}

}  // namespace

int64_t RunPlan::arena_bytes() const {
  return round_up(std::max<int64_t>(state_bytes + transient_bytes, 1), kArenaAlignment);
}

std::map<std::string, int64_t> RunPlan::by_purpose() const {
  static constexpr std::array<const char*, 5> kNames{"params", "gradients", "moments", "kv_cache",
                                                     "constants"};
  std::map<std::string, int64_t> m;
  for (const StateSlot& s : states)
    m[kNames[static_cast<size_t>(s.role)]] += round_up(s.type.bytes(), kBufferAlignment);
  const ProgramPlan* largest = nullptr;
  for (const ProgramPlan& p : programs)
    if (!largest || p.transient_bytes > largest->transient_bytes) largest = &p;
  if (largest) {
    m["activations"] = largest->kept_bytes;
    m["workspace"] = largest->workspace_bytes;
    m["temporaries"] = transient_bytes - largest->kept_bytes - largest->workspace_bytes;
  }
  m["alignment"] = arena_bytes() - state_bytes - transient_bytes;
  return m;
}

Result<RunPlan> plan_run(std::span<const PlanInput> programs) {
  RunPlan run;
  std::map<std::string, size_t> slot_of;
  for (const PlanInput& in : programs) {
    for (const State& s : in.program->states) {
      const Type& type = in.program->type(s.value);
      auto [it, inserted] = slot_of.emplace(s.name, run.states.size());
      if (inserted) {
        run.states.push_back({s.name, type, s.role, run.state_bytes});
        run.state_bytes += round_up(type.bytes(), kBufferAlignment);
      } else if (run.states[it->second].type != type) {
        return Error(
            err::kStateMismatch,
            fmt::format("state '{}' is {} in one program and {} in '{}'", s.name,
                        run.states[it->second].type.text(), type.text(), in.program->name));
      }
    }
  }
  for (const PlanInput& in : programs) {
    Buffers buffers = share_storage(*in.program);
    std::vector<int64_t> offsets;
    for (const State& s : in.program->states) offsets.push_back(run.states[slot_of[s.name]].offset);
    run.programs.push_back(plan_program(in, buffers, offsets, run.state_bytes));
    run.transient_bytes = std::max(run.transient_bytes, run.programs.back().transient_bytes);
  }
  return run;
}

}  // namespace hone
