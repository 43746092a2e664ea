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
  // The backward pass is the nodes from `backward` to `update`, which follows it in whole steps.
  const auto end = static_cast<int32_t>(p.nodes.size());
  int32_t backward = end, update = end;
  for (int32_t i = 0; i < end; ++i) {
    if (p.nodes[static_cast<size_t>(i)].phase != Phase::backward) continue;
    backward = std::min(backward, i);
    update = i + 1;
  }
  for (size_t k = 0; k < buffers.all.size(); ++k) {
    const Buffers::Buffer& b = buffers.all[k];
    if (r.of_buffer[k] < 0 || b.first < 0 || b.first > peak || peak > b.last) continue;
    const int64_t bytes = r.lifetimes[static_cast<size_t>(r.of_buffer[k])].bytes;
    if (b.first < backward && b.last >= backward) plan.kept_bytes += bytes;
    if (b.first >= backward && b.first < update && b.last >= update && b.last < end)
      plan.gradient_bytes += bytes;
  }
  return plan;
}

}  // namespace

StatePhase phase_of(Role r) {
  if (r == Role::grad) return StatePhase::step;
  return r == Role::cache ? StatePhase::generation : StatePhase::run;
}

int64_t RunPlan::arena_bytes() const {
  return round_up(std::max<int64_t>(used_bytes(), 1), kArenaAlignment);
}

std::map<std::string, int64_t> RunPlan::by_purpose() const {
  static constexpr std::array<const char*, 5> kNames{"params", "gradients", "moments", "kv_cache",
                                                     "constants"};
  std::map<std::string, int64_t> m;
  const ProgramPlan* largest = nullptr;
  for (const ProgramPlan& p : programs)
    if (!largest || p.held_bytes() > largest->held_bytes()) largest = &p;
  for (const StateSlot& s : states)
    if (const StatePhase phase = phase_of(s.role);
        phase == StatePhase::run ||
        (largest && largest->phase_bytes > 0 && phase == largest->phase))
      m[kNames[static_cast<size_t>(s.role)]] += round_up(s.type.bytes(), kBufferAlignment);
  if (largest) {
    m["activations"] = largest->kept_bytes;
    m["gradients"] += largest->gradient_bytes;
    m["workspace"] = largest->workspace_bytes;
    m["temporaries"] = largest->transient_bytes - largest->kept_bytes - largest->gradient_bytes -
                       largest->workspace_bytes;
  }
  m["alignment"] = arena_bytes() - used_bytes();
  return m;
}

int64_t io_bytes_of(const Type& type) { return round_up(type.bytes(), kBufferAlignment); }

Result<RunPlan> plan_run(std::span<const PlanInput> programs) {
  RunPlan run;
  std::map<std::string, size_t> slot_of;
  std::map<StatePhase, int64_t> bytes_of;
  for (const PlanInput& in : programs) {
    for (const State& s : in.program->states) {
      const Type& type = in.program->type(s.value);
      auto [it, inserted] = slot_of.emplace(s.name, run.states.size());
      if (inserted) {
        int64_t& held = bytes_of[phase_of(s.role)];
        run.states.push_back({s.name, type, s.role, held});
        held += round_up(type.bytes(), kBufferAlignment);
      } else if (run.states[it->second].type != type) {
        return Error(
            err::kStateMismatch,
            fmt::format("state '{}' is {} in one program and {} in '{}'", s.name,
                        run.states[it->second].type.text(), type.text(), in.program->name));
      }
    }
  }
  run.state_bytes = bytes_of[StatePhase::run];
  for (StateSlot& s : run.states)
    if (phase_of(s.role) != StatePhase::run) s.offset += run.state_bytes;
  for (const PlanInput& in : programs) {
    int64_t io = 0;
    for (const Named& n : in.program->inputs) io += io_bytes_of(in.program->type(n.value));
    for (const Named& n : in.program->outputs) io += io_bytes_of(in.program->type(n.value));
    run.io_bytes = std::max(run.io_bytes, io);
    Buffers buffers = share_storage(*in.program);
    std::vector<int64_t> offsets;
    StatePhase phase = StatePhase::run;
    for (const State& s : in.program->states) {
      offsets.push_back(run.states[slot_of[s.name]].offset);
      if (phase_of(s.role) == StatePhase::run) continue;
      HONE_BUG_IF(phase != StatePhase::run && phase != phase_of(s.role),
                  "program {} names states of two phases", in.program->name);
      phase = phase_of(s.role);
    }
    const int64_t held = phase == StatePhase::run ? 0 : bytes_of[phase];
    ProgramPlan& plan =
        run.programs.emplace_back(plan_program(in, buffers, offsets, run.state_bytes + held));
    plan.phase = phase;
    plan.phase_bytes = held;
    run.program_bytes = std::max(run.program_bytes, plan.held_bytes());
  }
  return run;
}

}  // namespace hone
