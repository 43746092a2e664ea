#include "engine/session/session.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/core/log.h"
#include "engine/device/accesses.h"
#include "engine/device/disk_io.h"
#include "engine/device/lower.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"
#include "engine/session/halved_states.h"

namespace hone {
namespace {

// The node makes the new version of a copy (Role::copy), seen through what brings it to its home.
bool writes_copy(const Program& p, const Node& n) {
  if (n.op->name != "cast" || n.phase != Phase::update) return false;
  return std::any_of(p.states.begin(), p.states.end(), [&](const State& s) {
    if (s.role != Role::copy || s.next == kNoValue) return false;
    ValueId v = s.next;
    for (int32_t made = p.values[static_cast<size_t>(v)].node; made >= 0;) {
      const Node& by = p.nodes[static_cast<size_t>(made)];
      if (!by.op->copies && !by.op->waits) break;
      v = by.in[0];
      made = p.values[static_cast<size_t>(v)].node;
    }
    return v == n.out[0];
  });
}

// A line for each node that decides bits. Places of values change none, nor do copies of weights for products.
std::string kernels_text(const Program& p, const std::vector<Choice>& choices) {
  std::string text;
  for (size_t k = 0; k < p.nodes.size(); ++k) {
    const Op& op = *p.nodes[k].op;
    if (op.copies || op.waits || op.name == "upper_half" || writes_copy(p, p.nodes[k])) continue;
    text += op.name + " " + choices[k].id + "\n";
  }
  return text;
}

// Takes bytes that other ranks hold from the source.
Status skip(StateSource source, int64_t bytes, int64_t most) {
  if (bytes == 0) return Ok{};
  const DiskBuffer block = make_disk_buffer(std::min(bytes, most));
  for (; bytes > 0; bytes -= std::min(bytes, most))
    HONE_TRY(source({block.get(), static_cast<size_t>(std::min(bytes, most))}));
  return Ok{};
}

}  // namespace

Result<Session> Session::compile(std::vector<Program> programs, const Backend& backend) {
  Session s;
  if (backend.computes()) s.device_ = &backend.device();
  s.programs_ = std::move(programs);
  std::vector<PlanInput> inputs;
  for (Program& p : s.programs_) {
    add_halved_states(p, s.halved_);
    std::vector<Choice>& choices = s.choices_.emplace_back();
    p = HONE_TRY(lower(std::move(p), backend, &choices));
    s.kernels_.push_back(kernels_text(p, choices));
    if (backend.join(p)) p = HONE_TRY(lower(std::move(p), backend, &choices));
    HONE_TRY(verify(p));
    inputs.push_back(plan_input(p, choices));
  }
  s.plan_ = HONE_TRY(plan_run(inputs));
  for (size_t i = 0; i < s.plan_.states.size(); ++i)
    s.slots_of_[s.plan_.states[i].tensor()].push_back(i);
  if (s.device_) s.executable_ = HONE_TRY(backend.compile(s.programs_, s.plan_));
  return s;
}

Status Session::allocate(const std::string& folder) {
  HONE_BUG_IF(!device_, "a backend that computes nothing has no arena");
  PerSpace<std::unique_ptr<Memory>> arenas;
  PerSpace<std::byte*> addresses;
  for (const Space s :
       {Space::disk, Space::host, Space::device}) {  // memory takes time to populate
    if (plan_.arena_bytes(s) == 0) continue;
    arenas[s] = HONE_TRY(device_->allocate(s, plan_.arena_bytes(s), folder));
    addresses[s] = arenas[s]->data();
  }
  arenas_ = std::move(arenas);
  if (!device_->host_memory())
    staging_ = HONE_TRY(device_->allocate(Space::host, std::max<int64_t>(plan_.io_bytes, 1)));
  std::vector<Ports> all;
  for (size_t i = 0; i < programs_.size(); ++i) all.push_back(bind_ports(i));
  executable_->bind(addresses, std::move(all));
  return Ok{};
}

std::byte* Session::at(size_t program, ValueId v) const {
  return arenas_[programs_[program].space(v)]->data() +
         plan_.programs[program].offset[static_cast<size_t>(v)];
}

std::byte* Session::host_at(size_t program, ValueId v) const {
  return staging_ ? static_cast<std::byte*>(ports_[program].at(v).host) : at(program, v);
}

// Inputs first, then outputs, one after the other.
Ports Session::bind_ports(size_t program) {
  std::map<ValueId, Port>& ports = ports_.emplace_back();
  Ports copied;
  if (!staging_) return copied;
  const Program& p = programs_[program];
  int64_t end = 0;
  std::set<ValueId> stored;
  const auto port_of = [&](ValueId v) -> const Port& {
    const Port port{at(program, v), staging_->data() + end, p.type(v).bytes()};
    if (ports.emplace(v, port).second) end += io_bytes_of(p.type(v));
    return ports.at(v);
  };
  for (const Named& n : p.inputs) {
    const Port& port = port_of(n.value);
    copied.loads.push_back({port.device, port.host, port.bytes});
  }
  for (const Named& n : p.outputs) {
    const Port& port = port_of(n.value);
    if (stored.insert(n.value).second)
      copied.stores.push_back({port.host, port.device, port.bytes});
  }
  return copied;
}

// Writes down when each node ran, and looks at what it made.
class Session::Watch : public NodeWatch {
 public:
  Watch(Session& s, size_t program) : s_(s), program_(program) {}
  void begin(size_t node) override {
    if (s_.gate_ && static_cast<int64_t>(node) == s_.first_change(program_)) s_.open_gate();
    if (s_.profile_) begin_ = system_clock().seconds();
  }
  void end(size_t node) override {
    if (s_.profile_)
      s_.profile_->nodes.push_back({program_, node, begin_, system_clock().seconds()});
    if (s_.not_finite_ && !*s_.not_finite_) s_.look_at(program_, node);
  }

 private:
  Session& s_;
  size_t program_;
  double begin_ = 0;
};

void Session::run(size_t program) {
  HONE_BUG_IF(!allocated(), "run before allocate");
  if (!to_copy_.empty()) write_copies();
  Watch watch(*this, program);
  const bool changes = gate_ && first_change(program) >= 0;
  executable_->run(program, profile_ || not_finite_ || changes ? &watch : nullptr);
  queue().finish();
}

void Session::open_gate() {
  if (const std::function<void()> gate = std::exchange(gate_, nullptr)) gate();
}

// By where nodes write: what shares a state's storage may be written before the node that makes the
// state's next version.
int64_t Session::first_change(size_t program) {
  first_changes_.resize(programs_.size());
  std::optional<int64_t>& first = first_changes_[program];
  if (first) return *first;
  const Program& p = programs_[program];
  const std::vector<int64_t>& offsets = plan_.programs[program].offset;
  const auto changes = [&](const Node& n) {
    if (is_view(NodeView{p, n})) return false;
    return std::any_of(n.out.begin(), n.out.end(), [&](ValueId v) {
      const int64_t offset = offsets[static_cast<size_t>(v)];
      return std::any_of(plan_.states.begin(), plan_.states.end(), [&](const StateSlot& s) {
        return (s.role == Role::param || s.role == Role::moment) && s.home == p.space(v) &&
               offset >= s.offset && offset < s.offset + s.type.bytes();
      });
    });
  };
  const auto at = std::find_if(p.nodes.begin(), p.nodes.end(), changes);
  first = at == p.nodes.end() ? -1 : at - p.nodes.begin();
  return *first;
}

void Session::profile_into(Profile* profile) {
  Profile* const before = std::exchange(profile_, profile);
  if (executable_ != nullptr && (before == nullptr) != (profile == nullptr)) {
    if (profile != nullptr) {
      const Status begun = executable_->begin_profile();
      if (!begun.ok()) log_warning("profile     {}", begun.error().what());
    } else {
      const Result<std::string> recorded = executable_->end_profile();
      if (recorded.ok())
        before->of_device += *recorded;
      else
        log_warning("profile     {}", recorded.error().what());
    }
  }
  if (profile) profile->threads.resize(static_cast<size_t>(pool().size()));
  pool().record_into(profile ? &profile->threads : nullptr);
}

void Session::look_at(size_t program, size_t node) {
  const Program& p = programs_[program];
  const Node& n = p.nodes[node];
  if (is_begun(n)) return;  // it is looked at when it is done
  for (size_t i = 0; i < n.out.size(); ++i) {
    if (p.space(n.out[i]) == Space::disk) continue;
    const Type& type = p.type(n.out[i]);
    const void* data = at(program, n.out[i]);
    std::vector<std::byte> image;
    if (!host_reads(p.space(n.out[i]))) {
      image.resize(static_cast<size_t>(type.bytes()));
      queue().copy(image.data(), data, type.bytes());
      queue().finish();
      data = image.data();
    }
    if (makes_halves(n, i)) {
      const auto* halves = static_cast<const uint16_t*>(data);
      std::vector<std::byte> numbers(static_cast<size_t>(type.bytes()));
      join_halves(halves, halves + type.count(), type.count(), numbers.data());
      image = std::move(numbers);
      data = image.data();
    }
    NotFinite found = hone::count_not_finite(type, data);
    if (found.count == 0) continue;
    found.op = n.op->name;
    found.scope = n.scope;
    found.phase = n.phase;
    *not_finite_ = found;
    return;
  }
}

NotFinite Session::count_not_finite(std::string_view name) const {
  const Type type = state_type(name);
  NotFinite all;
  const auto count = [&](std::span<const std::byte> block) -> Status {
    const auto elements = static_cast<int64_t>(block.size()) / size_of(type.dtype);
    const NotFinite found = hone::count_not_finite({type.dtype, {elements}}, block.data());
    if (all.count == 0 && found.count > 0) all.first = all.elements + found.first;
    all.count += found.count;
    all.elements += elements;
    return Ok{};
  };
  const Status read = read_state(name, {}, count);
  HONE_BUG_IF(!read.ok(), "a count refuses a block");
  return all;
}

bool Session::has_state(std::string_view name) const {
  return slots_of_.find(name) != slots_of_.end();
}
const std::vector<size_t>& Session::slots(std::string_view name) const {
  const auto it = slots_of_.find(name);
  HONE_BUG_IF(it == slots_of_.end(), "no state is named '{}'", name);
  return it->second;
}
size_t Session::state_index(std::string_view name) const {
  const std::vector<size_t>& all = slots(name);
  HONE_BUG_IF(all.size() != 1, "'{}' is in {} states", name, all.size());
  return all[0];
}
const StateSlot& Session::state_slot(std::string_view name) const {
  return plan_.states[state_index(name)];
}
const AxisParts* Session::parts_of(std::string_view name) const {
  if (parts_.empty()) return nullptr;
  auto found = parts_.find(std::string(name));
  if (found == parts_.end() && has_state(name) &&
      plan_.states[slots(name)[0]].role != Role::param) {
    const size_t dot = name.find('.');
    if (dot != name.npos) found = parts_.find(std::string(name.substr(dot + 1)));
  }
  return found == parts_.end() ? nullptr : &found->second;
}

Type Session::state_type(std::string_view name) const {
  const AxisParts* parts = parts_of(name);
  return parts ? parts->whole(part_type(name)) : part_type(name);
}

Type Session::part_type(std::string_view name) const {
  const StateSlot& first = plan_.states[slots(name)[0]];
  Type type = first.type;
  if (!first.shard.whole()) type.shape[0] = first.shard.rows;
  return type;
}

StateRange Session::held_range(std::string_view name) const {
  const StateSlot& first = plan_.states[slots(name)[0]];
  if (first.shard.whole()) return {0, first.type.bytes()};
  const int64_t row = first.type.bytes() / std::max<int64_t>(first.type.shape[0], 1);
  const RowRange held = first.shard.held_rows();
  return {held.begin * row, held.count() * row};
}

template <class Visit>
Status Session::in_states(std::string_view name, const StateRange& range, Visit visit) const {
  HONE_BUG_IF(!allocated(), "a state before allocate");
  const StateRange held = held_range(name);
  if (range.begin == 0 && range.bytes < 0) return in_states(name, held, visit);
  const int64_t last = held.begin + held.bytes;
  const int64_t end = range.bytes < 0 ? last : range.begin + range.bytes;
  HONE_BUG_IF(range.begin < held.begin || range.begin > end || end > last,
              "bytes {} to {} of state '{}', which has {} to {} here", range.begin, end, name,
              held.begin, last);
  int64_t before = held.begin;  // bytes of the tensor
  for (const size_t i : slots(name)) {
    const StateSlot& s = plan_.states[i];
    const int64_t from = std::max(range.begin, before), to = std::min(end, before + s.type.bytes());
    if (from < to) HONE_TRY(visit(s, at(s) + (from - before), to - from));
    before += s.type.bytes();
  }
  return Ok{};
}

bool Session::host_reads(Space s) const {
  return s == Space::host || (s == Space::device && device_->host_memory());
}

bool Session::host_reads(std::string_view name) const {
  return !is_halved(name) && std::all_of(slots(name).begin(), slots(name).end(), [&](size_t i) {
    return host_reads(plan_.states[i].home);
  });
}

Status Session::read_state(std::string_view name, StateRange range, StateSink sink) const {
  if (is_halved(name)) return read_halves(name, range, sink);
  const auto read = [&](const StateSlot& s, const std::byte* from, int64_t bytes) -> Status {
    if (host_reads(s.home)) return sink({from, static_cast<size_t>(bytes)});
    const DiskBuffer block = make_disk_buffer(std::min(bytes, kStateBlock));
    for (int64_t at = 0; at < bytes; at += kStateBlock) {
      const int64_t count = std::min(kStateBlock, bytes - at);
      queue().copy(block.get(), from + at, count);
      queue().finish();
      HONE_TRY(check());
      HONE_TRY(sink({block.get(), static_cast<size_t>(count)}));
    }
    return Ok{};
  };
  return in_states(name, range, read);
}

Status Session::write_state(std::string_view name, StateRange range, StateSource source,
                            int64_t most) {
  open_gate();
  if (is_halved(name)) return write_halves(name, range, source, most);
  note_written(name);
  const auto write = [&](const StateSlot& s, std::byte* to, int64_t bytes) -> Status {
    DiskBuffer block;
    if (!host_reads(s.home)) block = make_disk_buffer(std::min(bytes, most));
    for (int64_t at = 0; at < bytes; at += most) {
      const int64_t count = std::min(most, bytes - at);
      std::byte* into = block ? block.get() : to + at;
      HONE_TRY(source({into, static_cast<size_t>(count)}));
      if (!block) continue;
      queue().copy(to + at, block.get(), count);
      queue().finish();
      HONE_TRY(check());
    }
    return Ok{};
  };
  const StateRange held = held_range(name);
  const int64_t all = state_type(name).bytes();
  if (const AxisParts* parts = parts_of(name)) {
    HONE_BUG_IF(range.begin != 0 || (range.bytes >= 0 && range.bytes != all),
                "bytes {} and {} more of '{}', which is in parts", range.begin, range.bytes, name);
    return write_parts(name, *parts, source, most);
  }
  if (held.bytes == all) return in_states(name, range, write);
  const int64_t end = range.bytes < 0 ? all : range.begin + range.bytes;
  const int64_t first = std::clamp(held.begin, range.begin, end),
                last = std::clamp(held.begin + held.bytes, first, end);
  HONE_TRY(skip(source, first - range.begin, most));
  if (first < last) HONE_TRY(in_states(name, {first, last - first}, write));
  return skip(source, end - last, most);
}

// The source makes all rows of the whole tensor, some at a time.
Status Session::write_parts(std::string_view name, const AxisParts& parts, StateSource source,
                            int64_t most) {
  const Type whole = state_type(name), part = part_type(name);
  const StateRange held = held_range(name);
  std::vector<std::byte> here(static_cast<size_t>(held.bytes)), rows;
  const int64_t count = whole.shape[0], row = count == 0 ? 0 : whole.bytes() / count,
                part_row = part.shape[0] == 0 ? 0 : part.bytes() / part.shape[0];
  const int64_t element = parts.axis == 0 ? row : row / parts.size;  // bytes along the axis
  // Bytes of the part, of which some may be on other ranks.
  const auto keep = [&](const std::byte* from, int64_t begin, int64_t bytes) {
    const int64_t first = std::max(begin, held.begin),
                  end = std::min(begin + bytes, held.begin + held.bytes);
    if (first < end)
      std::memcpy(here.data() + (first - held.begin), from + (first - begin),
                  static_cast<size_t>(end - first));
  };
  const int64_t together = row == 0 ? 1 : std::max<int64_t>(1, std::min(most, kStateBlock) / row);
  for (int64_t at = 0; at < count; at += together) {
    const int64_t some = std::min(together, count - at);
    rows.resize(static_cast<size_t>(some * row));
    HONE_TRY(source(rows));
    int64_t before = 0;  // of the part, along the axis
    for (const RowRange& r : parts.ranges) {
      if (parts.axis == 0) {
        const int64_t first = std::max(r.begin, at), end = std::min(r.end, at + some);
        if (first < end)
          keep(rows.data() + (first - at) * row, (before + first - r.begin) * row,
               (end - first) * row);
      } else {
        for (int64_t i = 0; i < some; ++i)
          keep(rows.data() + i * row + r.begin * element, (at + i) * part_row + before * element,
               r.count() * element);
      }
      before += r.count();
    }
  }
  copy_all(name, held.bytes, [&](std::byte* state, int64_t begin, int64_t bytes) {
    queue().copy(state, here.data() + begin, bytes);
  });
  return Ok{};
}

// For all bytes of a tensor that are here: nothing refuses a block.
void Session::copy_all(
    std::string_view name, int64_t given,
    FunctionRef<void(std::byte* state, int64_t begin, int64_t bytes)> copy) const {
  const int64_t all = held_range(name).bytes;
  HONE_BUG_IF(given != all, "state '{}' has {} bytes, not {}", name, all, given);
  int64_t begin = 0;
  const Status done = in_states(name, {}, [&](const StateSlot&, std::byte* at, int64_t bytes) {
    copy(at, std::exchange(begin, begin + bytes), bytes);
    return Status(Ok{});
  });
  HONE_BUG_IF(!done.ok(), "a copy is refused");
  queue().finish();
}

void Session::read_state(std::string_view name, std::span<std::byte> to) const {
  if (is_halved(name)) {
    HONE_BUG_IF(static_cast<int64_t>(to.size()) != state_type(name).bytes(), "not all of '{}'",
                name);
    std::byte* at = to.data();
    const Status read = read_halves(name, {}, [&](std::span<const std::byte> block) -> Status {
      at = std::copy(block.begin(), block.end(), at);
      return Ok{};
    });
    HONE_BUG_IF(!read.ok(), "a copy is refused");
    return;
  }
  copy_all(name, static_cast<int64_t>(to.size()),
           [&](const std::byte* state, int64_t begin, int64_t bytes) {
             queue().copy(to.data() + begin, state, bytes);
           });
}

void Session::write_state(std::string_view name, std::span<const std::byte> from) {
  open_gate();
  if (is_halved(name)) {
    HONE_BUG_IF(static_cast<int64_t>(from.size()) != state_type(name).bytes(), "not all of '{}'",
                name);
    const auto take = [&](std::span<std::byte> block) -> Status {
      std::copy_n(from.begin(), block.size(), block.begin());
      from = from.subspan(block.size());
      return Ok{};
    };
    HONE_BUG_IF(!write_halves(name, {}, take, kStateBlock).ok(), "a copy is refused");
    return;
  }
  note_written(name);
  const StateRange held = held_range(name);
  if (static_cast<int64_t>(from.size()) == state_type(name).bytes())
    from = from.subspan(static_cast<size_t>(held.begin), static_cast<size_t>(held.bytes));
  copy_all(name, static_cast<int64_t>(from.size()),
           [&](std::byte* state, int64_t begin, int64_t bytes) {
             queue().copy(state, from.data() + begin, bytes);
           });
}

void Session::note_written(std::string_view name) {
  if (slots_of_.contains(copy_name(std::string(name)))) to_copy_.emplace(name);
}

void Session::write_copies() {
  std::vector<std::byte> narrow;
  for (const std::string& name : std::exchange(to_copy_, {})) {
    const std::string copy = copy_name(name);
    const DType as = state_type(copy).dtype;
    int64_t done = 0;  // bytes of the copy
    const auto write = [&](std::span<const std::byte> block) -> Status {
      const auto count = static_cast<int64_t>(block.size() / sizeof(float));
      narrow.resize(static_cast<size_t>(2 * count));
      pool().parallel_for(count, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          float x;
          std::memcpy(&x, block.data() + 4 * i, sizeof x);
          const uint16_t bits = as == DType::bf16 ? f32_to_bf16(x) : f32_to_f16(x);
          std::memcpy(narrow.data() + 2 * i, &bits, sizeof bits);
        }
      });
      const std::byte* from = narrow.data();
      return write_state(copy, {std::exchange(done, done + 2 * count), 2 * count},
                         [&](std::span<std::byte> to) -> Status {
                           std::memcpy(to.data(), std::exchange(from, from + to.size()), to.size());
                           return Ok{};
                         });
    };
    const int64_t all = state_type(name).bytes();
    HONE_BUG_IF(held_range(name).bytes != all, "'{}' has a copy, and not all of its rows", name);
    for (int64_t at = 0; at < all; at += kStateBlock) {
      const Status copied = read_state(name, {at, std::min(kStateBlock, all - at)}, write);
      HONE_BUG_IF(!copied.ok() && check().ok(), "the copy of '{}' is refused", name);
    }
  }
}

void Session::copy_states(std::span<const StateCopy> copies) {
  open_gate();
  std::array<Copy, 64> some;  // a step allocates nothing
  while (!copies.empty()) {
    const size_t count = std::min(copies.size(), some.size());
    for (size_t i = 0; i < count; ++i) {
      const StateCopy& c = copies[i];
      std::byte* state = at(plan_.states[c.state]);
      some[i] = {state + c.to, state + c.from, c.bytes};
    }
    queue().copy(std::span(some).first(count));
    copies = copies.subspan(count);
  }
}

void Session::zero_states(Role role) {
  open_gate();
  for (const StateSlot& s : plan_.states)
    if (s.role == role) queue().zero(at(s), s.type.bytes());
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
  return host_bytes(program, v, true);
}
std::span<const std::byte> Session::output_bytes(size_t program, std::string_view name) const {
  ValueId v = programs_[program].output_named(name);
  HONE_BUG_IF(v == kNoValue, "program {} has no output '{}'", programs_[program].name, name);
  return host_bytes(program, v, false);
}
std::span<std::byte> Session::host_bytes(size_t program, ValueId v, bool writes) const {
  const Access access{host_at(program, v), programs_[program].type(v).bytes(), writes};
  if (staging_) note_host_accesses({&access, 1});
  return {host_at(program, v), static_cast<size_t>(access.bytes)};
}

std::string Session::kernel_manifest(std::span<const size_t> programs) const {
  uint64_t h = kFnvBasis;
  for (const size_t i : programs) h = fnv1a(kernels_[i], h);
  return fmt::format("{:016x}", h);
}

}  // namespace hone
