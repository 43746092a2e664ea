#include "engine/backends/cuda/emulator/fake_driver.h"

#include <algorithm>
#include <mutex>

#include "engine/backends/cuda/emulator/state.h"

namespace hone::cuda {
namespace {

std::mutex gate;
FakeState* current = nullptr;  // with the gate
uint64_t made = 0;

// A driver's number: what a thread noted for one that is gone is forgotten.
thread_local uint64_t context_of = 0, noted_for = 0;
thread_local std::vector<Access> noted;
thread_local bool inside = false;  // this thread has the gate

struct Gate {
  Gate() : lock(gate) { inside = true; }
  ~Gate() { inside = false; }
  std::lock_guard<std::mutex> lock;
};

void note_work(std::span<const Access> accesses) {
  // A host function that is run by the driver, or another backend.
  if (inside || fake_driver_skips_thread) return;
  const Gate g;
  if (current == nullptr) return;
  // An address outside of this driver's memory belongs to another backend.
  const auto is_known = [](const Access& a) { return current->blocks.find(a.at) != nullptr; };
  if (std::none_of(accesses.begin(), accesses.end(), is_known)) return;
  if (noted_for != current->number) noted.clear();
  noted_for = current->number;
  noted.insert(noted.end(), accesses.begin(), accesses.end());
}

void note_host(std::span<const Access> accesses) {
  if (inside || fake_driver_skips_thread) return;
  const Gate g;
  if (current == nullptr) return;
  current->function = "the host, after this call";
  current->kernel.clear();
  current->on = nullptr;
  for (const Access& a : accesses) {
    if (a.bytes == 0 || current->blocks.find(a.at) == nullptr) continue;  // of another backend
    const fake::Block* b = current->block(a.at, a.bytes);
    if (b == nullptr) continue;
    if (b->device)
      current->find(fmt::format("touches {}", b->text()));
    else
      current->host_access(a, a.writes ? "writes" : "reads");
  }
}

constexpr AccessHooks kHooks = {note_work, note_host};

}  // namespace

FakeDriver::FakeDriver(FakeOptions options) : state_(std::make_unique<FakeState>(options)) {
  fake::add_device_functions(state_->table);
  fake::add_memory_functions(state_->table);
  fake::add_stream_functions(state_->table);
  fake::add_copy_functions(state_->table);
  fake::add_launch_functions(state_->table);
  fake::add_graph_functions(state_->table);
  const Gate g;
  HONE_BUG_IF(current != nullptr, "two fake drivers at a time");
  state_->number = ++made;
  current = state_.get();
  access_hooks.store(&kHooks, std::memory_order_release);
}

FakeDriver::~FakeDriver() {
  const Gate g;
  current = nullptr;
  access_hooks.store(nullptr, std::memory_order_release);
}

const Driver& FakeDriver::table() const { return state_->table; }

void FakeDriver::begin_step() {
  const Gate g;
  state_->in_step = true;
}
void FakeDriver::end_step() {
  const Gate g;
  state_->in_step = false;
}

std::vector<std::string> FakeDriver::findings() const {
  const Gate g;
  std::vector<std::string> all = state_->findings;
  if (state_->more_findings > 0)
    all.push_back(fmt::format("There are {} more findings.", state_->more_findings));
  return all;
}

std::vector<std::string> FakeDriver::finish() {
  {
    const Gate g;
    FakeState& s = *state_;
    s.queues.run_all();
    const auto leak = [&](const std::string& what) { s.find_at(what, "is left at the end"); };
    for (const auto& [at, b] : s.blocks.all())
      if (b.freed_by == 0) leak(b.text());
    for (const auto& one : s.queues.streams().all())
      if (!one->destroyed && one.get() != s.queues.null_if_used()) leak(one->text());
    for (const auto& one : s.events.all())
      if (!one->destroyed) leak(one->text());
    for (const auto& one : s.graphs.all())
      if (!one->destroyed) leak(one->text());
    for (const auto& one : s.execs.all())
      if (!one->destroyed) leak(one->text());
    for (const auto& one : s.modules.all())
      if (!one->unloaded) leak(fmt::format("module {}", one->number));
    if (s.retained > 0) leak("the primary context");
  }
  return findings();
}

namespace fake {

std::vector<Access> take_noted(const FakeState& s) {
  std::vector<Access> taken = std::move(noted);
  noted.clear();
  if (noted_for != s.number) taken.clear();
  return taken;
}

CUresult enter(const char* function, FunctionRef<CUresult(FakeState&)> body, bool context) {
  if (inside) {  // the driver runs a host function on this thread
    current->find(fmt::format("runs a host function, which calls {}", function));
    return CUDA_ERROR_NOT_PERMITTED;
  }
  const Gate g;
  if (current == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  FakeState& s = *current;
  ++s.calls;
  s.function = function;
  s.kernel.clear();
  s.on = nullptr;
  CUresult result = CUDA_ERROR_INVALID_CONTEXT;
  if (context && (s.retained == 0 || context_of != s.number))
    s.find("is made on a thread without a current context");
  else
    result = body(s);
  return result;
}

void set_current_context(const FakeState& s, bool set) { context_of = set ? s.number : 0; }

}  // namespace fake
}  // namespace hone::cuda
