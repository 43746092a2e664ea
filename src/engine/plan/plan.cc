#include "engine/plan/plan.h"

#include <algorithm>

#include "engine/plan/buffers.h"
#include "engine/plan/cost_model.h"
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

Region transients(const PlanInput& in, const Buffers& buffers, Space space, int64_t alignment) {
  Region r;
  for (const Buffers::Buffer& b : buffers.all) {
    bool transient = b.state < 0 && b.bytes > 0 && b.space == space;
    r.of_buffer.push_back(transient ? static_cast<int32_t>(r.lifetimes.size()) : -1);
    if (transient) r.lifetimes.push_back({round_up(b.bytes, alignment), b.first, b.last});
  }
  for (size_t i = 0; i < in.program->nodes.size(); ++i) {
    const int64_t bytes =
        space == workspace_space(in.program->nodes[i]) && i < in.workspace_bytes.size()
            ? in.workspace_bytes[i]
            : 0;
    r.of_node.push_back(bytes > 0 ? static_cast<int32_t>(r.lifetimes.size()) : -1);
    if (bytes > 0)
      r.lifetimes.push_back(
          {round_up(bytes, alignment), static_cast<int32_t>(i), buffers.busy_until[i]});
  }
  return r;
}

PerSpace<int64_t> alignments(std::span<const PlanInput> programs) {
  const bool disk = std::any_of(programs.begin(), programs.end(), [](const PlanInput& in) {
    const std::vector<ValueInfo>& values = in.program->values;
    return std::any_of(values.begin(), values.end(),
                       [](const ValueInfo& v) { return v.space == Space::disk; });
  });
  PerSpace<int64_t> a;
  for (const Space s : kSpaces)
    a[s] = !disk ? kBufferAlignment : s == Space::disk ? kDiskAlignment : kStagingAlignment;
  return a;
}

// Whether a copy reads or writes the buffer, or other ranks send it, by buffer.
std::vector<bool> staging(const Program& p, const Buffers& buffers) {
  std::vector<bool> is(buffers.all.size(), false);
  const auto add = [&](ValueId v) {
    if (const int32_t b = buffers.of[static_cast<size_t>(v)].buffer; b >= 0)
      is[static_cast<size_t>(b)] = true;
  };
  for (const Node& n : p.nodes) {
    if (n.op->copies) add(n.in[0]);
    if (n.op->copies || n.op->gathers)
      for (const ValueId v : n.out) add(v);
  }
  return is;
}

// Takes the bytes from buffers that hold results of fused nodes alone. The nodes' operands live until the last reader.
void leave_out_fused(const PlanInput& in, Buffers& buffers) {
  if (std::find(in.fused.begin(), in.fused.end(), true) == in.fused.end()) return;
  const Program& p = *in.program;
  std::vector<bool> stored(buffers.all.size(), false);
  const auto buffer_of = [&](ValueId v) {
    return v == kNoValue ? -1 : buffers.of[static_cast<size_t>(v)].buffer;
  };
  const auto is_fused = [&](size_t node) { return node < in.fused.size() && in.fused[node]; };
  for (size_t v = 0; v < p.values.size(); ++v) {
    const int32_t at = p.values[v].node, buffer = buffers.of[v].buffer;
    if (buffer < 0) continue;
    const bool view = at >= 0 && is_view(p, p.nodes[static_cast<size_t>(at)]);
    if (at < 0 || (!view && !is_fused(static_cast<size_t>(at))))
      stored[static_cast<size_t>(buffer)] = true;
  }
  for (const Named& n : p.outputs)
    if (const int32_t buffer = buffer_of(n.value); buffer >= 0)
      stored[static_cast<size_t>(buffer)] = true;
  for (size_t i = p.nodes.size(); i-- > 0;) {
    if (!is_fused(i)) continue;
    for (const ValueId v : p.nodes[i].out) {
      const int32_t made = buffer_of(v);
      if (made < 0 || stored[static_cast<size_t>(made)]) continue;
      Buffers::Buffer& b = buffers.all[static_cast<size_t>(made)];
      b.bytes = 0;
      for (const ValueId operand : p.nodes[i].in)
        if (const int32_t read = buffer_of(operand); read >= 0) {
          int32_t& last = buffers.all[static_cast<size_t>(read)].last;
          last = std::max(last, b.last);
        }
    }
  }
}

// `enough`: what another program needs of each space at least.
ProgramPlan plan_program(const PlanInput& in, const Buffers& buffers, PerSpace<Region>& regions,
                         const std::vector<int64_t>& state_offset, const PerSpace<int64_t>& base,
                         const PerSpace<int64_t>& enough) {
  const Program& p = *in.program;
  ProgramPlan plan;
  plan.offset.assign(p.values.size(), -1);
  for (const Space space : kSpaces) {
    Search search;
    search.enough = enough[space];
    plan.transient_bytes[space] = assign_offsets(regions[space].lifetimes, &search);
  }
  for (size_t v = 0; v < p.values.size(); ++v) {
    const Storage s = buffers.of[v];
    if (s.buffer < 0) continue;
    const Buffers::Buffer& b = buffers.all[static_cast<size_t>(s.buffer)];
    const Region& in_space = regions[b.space];
    if (b.state >= 0)
      plan.offset[v] = state_offset[static_cast<size_t>(b.state)] + s.offset;
    else if (int32_t at = in_space.of_buffer[static_cast<size_t>(s.buffer)]; at >= 0)
      plan.offset[v] =
          base[b.space] + in_space.lifetimes[static_cast<size_t>(at)].offset + s.offset;
    else
      plan.offset[v] = base[b.space];  // an empty tensor
  }
  const Region& r = regions[Space::device];
  int32_t peak = 0;
  plan.live_bytes = most_alive(r.lifetimes, &peak);
  plan.peak_node = static_cast<size_t>(std::max(peak, 0));
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const Space space = workspace_space(p.nodes[i]);
    const Region& in_space = regions[space];
    const int32_t at = in_space.of_node[i];
    const int64_t offset = at >= 0 ? in_space.lifetimes[static_cast<size_t>(at)].offset : 0;
    plan.workspace_offset.push_back(base[space] + offset);
    if (at >= 0 && space == Space::device && i == plan.peak_node)
      plan.workspace_bytes = in_space.lifetimes[static_cast<size_t>(at)].bytes;
  }
  // The backward pass is the nodes from `backward` to `update`, which follows it in whole steps.
  const auto end = static_cast<int32_t>(p.nodes.size());
  int32_t backward = end, update = end;
  for (int32_t i = 0; i < end; ++i) {
    if (p.nodes[static_cast<size_t>(i)].phase != Phase::backward) continue;
    backward = std::min(backward, i);
    update = i + 1;
  }
  const std::vector<bool> staged = staging(p, buffers);
  for (size_t k = 0; k < buffers.all.size(); ++k) {
    const Buffers::Buffer& b = buffers.all[k];
    if (r.of_buffer[k] < 0 || b.first < 0 || b.first > peak || peak > b.last) continue;
    const int64_t bytes = r.lifetimes[static_cast<size_t>(r.of_buffer[k])].bytes;
    if (staged[k]) {
      plan.staging_bytes += bytes;
      continue;
    }
    if (b.first < backward && b.last >= backward) plan.kept_bytes += bytes;
    if (b.first >= backward && b.first < update && b.last >= update && b.last < end)
      plan.gradient_bytes += bytes;
  }
  return plan;
}

}  // namespace

Space workspace_space(const Node& n) {
  return n.lane == Lane::host_compute ? Space::host : Space::device;
}

StatePhase phase_of(Role r) {
  if (r == Role::grad) return StatePhase::step;
  return r == Role::cache ? StatePhase::generation : StatePhase::run;
}

int64_t RunPlan::arena_bytes(Space s) const {
  return round_up(std::max<int64_t>(used_bytes(s), s == Space::device ? 1 : 0), kArenaAlignment);
}

std::map<std::string, int64_t> RunPlan::by_purpose() const {
  static constexpr std::array<const char*, 6> kNames{"params",   "gradients", "moments",
                                                     "kv_cache", "constants", "copies"};
  constexpr Space kHere = Space::device;
  std::map<std::string, int64_t> m;
  const ProgramPlan* largest = nullptr;
  for (const ProgramPlan& p : programs)
    if (!largest || p.held_bytes(kHere) > largest->held_bytes(kHere)) largest = &p;
  for (const StateSlot& s : states)
    if (const StatePhase phase = phase_of(s.role);
        s.home == kHere &&
        (phase == StatePhase::run ||
         (largest && largest->phase_bytes[kHere] > 0 && phase == largest->phase)))
      m[kNames[static_cast<size_t>(s.role)]] += round_up(s.type.bytes(), alignment[kHere]);
  if (largest) {
    m["activations"] = largest->kept_bytes;
    m["gradients"] += largest->gradient_bytes;
    if (largest->staging_bytes > 0) m["staging"] = largest->staging_bytes;
    m["workspace"] = largest->workspace_bytes;
    m["temporaries"] = largest->transient_bytes[kHere] - largest->kept_bytes -
                       largest->gradient_bytes - largest->staging_bytes - largest->workspace_bytes;
  }
  m["alignment"] = arena_bytes() - used_bytes();
  return m;
}

int64_t io_bytes_of(const Type& type) { return round_up(type.bytes(), kBufferAlignment); }

Result<RunPlan> plan_run(std::span<const PlanInput> programs) {
  RunPlan run;
  run.alignment = alignments(programs);
  std::map<std::string, size_t> slot_of;
  std::map<StatePhase, PerSpace<int64_t>> bytes_of;
  for (const PlanInput& in : programs) {
    for (const State& s : in.program->states) {
      const Type& type = in.program->type(s.value);
      auto [it, inserted] = slot_of.emplace(s.name, run.states.size());
      if (inserted) {
        int64_t& held = bytes_of[phase_of(s.role)][s.home];
        run.states.push_back({s.name, type, s.role, held, s.home, s.shard});
        held += round_up(type.bytes(), run.alignment[s.home]);
      } else if (const StateSlot& slot = run.states[it->second]; slot.type != type) {
        return Error(err::kStateMismatch,
                     fmt::format("state '{}' is {} in one program and {} in '{}'", s.name,
                                 slot.type.text(), type.text(), in.program->name));
      } else if (slot.shard != s.shard) {
        return Error(err::kStateMismatch,
                     fmt::format("state '{}' has other rows of its tensor in '{}'", s.name,
                                 in.program->name));
      } else if (slot.home != s.home) {
        return Error(err::kStateMismatch,
                     fmt::format("state '{}' is on {} in one program and on {} in '{}'", s.name,
                                 name_of(slot.home), name_of(s.home), in.program->name));
      }
    }
  }
  run.state_bytes = bytes_of[StatePhase::run];
  for (StateSlot& s : run.states)
    if (phase_of(s.role) != StatePhase::run) s.offset += run.state_bytes[s.home];
  struct Prepared {
    Buffers buffers;
    PerSpace<Region> regions;
    std::vector<int64_t> offsets;  // of its states
    StatePhase phase = StatePhase::run;
    PerSpace<int64_t> held;  // by the states of its phase
  };
  std::vector<Prepared> all;
  PerSpace<int64_t> least;  // that a program needs beside the states of the run
  for (const PlanInput& in : programs) {
    int64_t io = 0;
    for (const Named& n : in.program->inputs) io += io_bytes_of(in.program->type(n.value));
    for (const Named& n : in.program->outputs) io += io_bytes_of(in.program->type(n.value));
    run.io_bytes = std::max(run.io_bytes, io);
    Prepared& x = all.emplace_back();
    x.buffers = share_storage(*in.program);
    leave_out_fused(in, x.buffers);
    for (const State& s : in.program->states) {
      x.offsets.push_back(run.states[slot_of[s.name]].offset);
      if (phase_of(s.role) == StatePhase::run) continue;
      HONE_BUG_IF(x.phase != StatePhase::run && x.phase != phase_of(s.role),
                  "program {} names states of two phases", in.program->name);
      x.phase = phase_of(s.role);
    }
    for (const Space space : kSpaces) {
      x.regions[space] = transients(in, x.buffers, space, run.alignment[space]);
      x.held[space] = x.phase == StatePhase::run ? 0 : bytes_of[x.phase][space];
      least[space] = std::max(least[space], x.held[space] + most_alive(x.regions[space].lifetimes));
    }
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    Prepared& x = all[i];
    PerSpace<int64_t> base, enough;
    for (const Space space : kSpaces) {
      base[space] = run.state_bytes[space] + x.held[space];
      // Within the same whole huge page no smaller region makes a smaller arena.
      enough[space] =
          round_up(run.state_bytes[space] + least[space], kArenaAlignment) - base[space];
    }
    ProgramPlan& plan = run.programs.emplace_back(
        plan_program(programs[i], x.buffers, x.regions, x.offsets, base, enough));
    plan.phase = x.phase;
    plan.traffic_bytes = traffic_of(*programs[i].program);
    plan.phase_bytes = x.held;
    for (const Space space : kSpaces)
      run.program_bytes[space] = std::max(run.program_bytes[space], plan.held_bytes(space));
  }
  return run;
}

}  // namespace hone
