#include "engine/session/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/core/hash.h"
#include "engine/device/lower.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"
#include "engine/session/errors.h"

namespace hone {
namespace {

// The plan lets a view share its operand's storage; where it may not, the bytes are copied.
Kernel view_kernel(const NodeView& n) {
  const int64_t offset = n.node.op->view_offset(n), bytes = n.out(0).bytes();
  return {"view", 0, [offset, bytes](const KernelArgs& a) {
            const auto* from = static_cast<const std::byte*>(a.in[0]) + offset;
            if (from != a.out[0]) std::memcpy(a.out[0], from, static_cast<size_t>(bytes));
          }};
}

}  // namespace

Result<Session> Session::compile(std::vector<Program> programs, const Backend& backend,
                                 ThreadPool& pool) {
  HONE_BUG_IF(backend.threads() != 0 && backend.threads() != pool.size(),
              "a backend for {} threads meets a pool of {}", backend.threads(), pool.size());
  Session s;
  s.pool_ = &pool;
  s.computes_ = backend.computes();
  s.programs_ = std::move(programs);
  std::vector<PlanInput> inputs;
  for (Program& p : s.programs_) {
    p = HONE_TRY(lower(p, backend));
    p.compact();
    HONE_TRY(verify(p));
    std::vector<Kernel>& kernels = s.kernels_.emplace_back();
    PlanInput in{&p, {}};
    for (const Node& n : p.nodes) {
      kernels.push_back(is_view({p, n}) ? view_kernel({p, n}) : HONE_TRY(backend.kernel({p, n})));
      in.workspace_bytes.push_back(kernels.back().workspace_bytes);
    }
    inputs.push_back(std::move(in));
  }
  s.plan_ = HONE_TRY(plan_run(inputs));
  for (size_t i = 0; i < s.plan_.states.size(); ++i) s.slot_of_[s.plan_.states[i].name] = i;
  return s;
}

Status Session::allocate() {
  HONE_BUG_IF(!computes_, "a backend that computes nothing has no arena");
  arena_ = HONE_TRY(Arena::allocate(plan_.arena_bytes()));  // fresh pages are zero
  bind();
  return Ok{};
}

std::byte* Session::at(size_t program, ValueId v) const {
  return arena_.data() + plan_.programs[program].offset[static_cast<size_t>(v)];
}

void Session::bind() {
  calls_.clear();
  int64_t reached = plan_.state_bytes;
  for (size_t i = 0; i < programs_.size(); ++i) {
    const Program& p = programs_[i];
    std::vector<Call>& calls = calls_.emplace_back();
    reached = std::max(reached, plan_.state_bytes + plan_.programs[i].phase_bytes);
    auto place = [&](ValueId v) -> std::byte* {
      if (v == kNoValue) return nullptr;
      int64_t offset = plan_.programs[i].offset[static_cast<size_t>(v)];
      HONE_BUG_IF(offset < 0, "value %{} of program {} has no place", v, p.name);
      // A view may begin anywhere inside its operand's buffer.
      reached = std::max(reached, (offset + p.type(v).bytes() + kBufferAlignment - 1) /
                                      kBufferAlignment * kBufferAlignment);
      return arena_.data() + offset;
    };
    for (size_t k = 0; k < p.nodes.size(); ++k) {
      Call c;
      for (ValueId v : p.nodes[k].in) c.in.push_back(place(v));
      for (ValueId v : p.nodes[k].out) c.out.push_back(place(v));
      int64_t scratch = plan_.programs[i].workspace_offset[k];
      c.workspace = arena_.data() + scratch;
      if (kernels_[i][k].workspace_bytes > 0)
        reached =
            std::max(reached, scratch + (kernels_[i][k].workspace_bytes + kBufferAlignment - 1) /
                                            kBufferAlignment * kBufferAlignment);
      calls.push_back(std::move(c));
    }
  }
  HONE_BUG_IF(reached != plan_.used_bytes(), "the programs reach {} bytes, the plan says {}",
              reached, plan_.used_bytes());
}

void Session::run(size_t program) {
  HONE_BUG_IF(!allocated(), "run before allocate");
  auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  for (size_t k = 0; k < calls_[program].size(); ++k) {
    const Call& c = calls_[program][k];
    const double begin = profile_ ? now() : 0;
    kernels_[program][k].run({c.in.data(), c.out.data(), c.workspace, *pool_});
    if (profile_) profile_->nodes.push_back({program, k, begin, now()});
    if (not_finite_ && !*not_finite_) look_at(programs_[program], programs_[program].nodes[k], c);
  }
}

void Session::profile_into(Profile* profile) {
  profile_ = profile;
  if (profile) profile->threads.resize(static_cast<size_t>(pool_->size()));
  pool_->record_into(profile ? &profile->threads : nullptr);
}

void Session::look_at(const Program& p, const Node& n, const Call& call) {
  for (size_t i = 0; i < n.out.size(); ++i) {
    NotFinite found = hone::count_not_finite(p.type(n.out[i]), call.out[i]);
    if (found.count == 0) continue;
    found.op = n.op->name;
    found.scope = n.scope;
    found.phase = n.phase;
    *not_finite_ = found;
    return;
  }
}

NotFinite Session::count_not_finite(std::string_view name) const {
  const StateSlot& s = state_slot(name);
  return hone::count_not_finite(s.type, arena_.data() + s.offset);
}

bool Session::has_state(std::string_view name) const {
  return slot_of_.find(name) != slot_of_.end();
}
const StateSlot& Session::state_slot(std::string_view name) const {
  auto it = slot_of_.find(name);
  HONE_BUG_IF(it == slot_of_.end(), "no state is named '{}'", name);
  return plan_.states[it->second];
}
std::span<std::byte> Session::state(std::string_view name) {
  const StateSlot& s = state_slot(name);
  return {arena_.data() + s.offset, static_cast<size_t>(s.type.bytes())};
}

void Session::zero_states(Role role) {
  for (const StateSlot& s : plan_.states)
    if (s.role == role)
      std::memset(arena_.data() + s.offset, 0, static_cast<size_t>(s.type.bytes()));
}

size_t Session::program_index(std::string_view name) const {
  for (size_t i = 0; i < programs_.size(); ++i)
    if (programs_[i].name == name) return i;
  HONE_BUG_IF(true, "no program is named '{}'", name);
}
bool Session::has_input(size_t program, std::string_view name) const {
  return programs_[program].input_named(name) != kNoValue;
}
std::span<std::byte> Session::input_bytes(size_t program, std::string_view name) {
  ValueId v = programs_[program].input_named(name);
  HONE_BUG_IF(v == kNoValue, "program {} has no input '{}'", programs_[program].name, name);
  return {at(program, v), static_cast<size_t>(programs_[program].type(v).bytes())};
}
std::span<const std::byte> Session::output_bytes(size_t program, std::string_view name) const {
  ValueId v = programs_[program].output_named(name);
  HONE_BUG_IF(v == kNoValue, "program {} has no output '{}'", programs_[program].name, name);
  return {at(program, v), static_cast<size_t>(programs_[program].type(v).bytes())};
}

std::string Session::kernel_manifest() const {
  uint64_t h = kFnvBasis;
  for (size_t i = 0; i < programs_.size(); ++i)
    for (size_t k = 0; k < kernels_[i].size(); ++k)
      h = fnv1a(programs_[i].nodes[k].op->name + " " + kernels_[i][k].id + "\n", h);
  return fmt::format("{:016x}", h);
}

}  // namespace hone
