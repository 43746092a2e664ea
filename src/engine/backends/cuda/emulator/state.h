// State that the functions of the fake share. They are called with the lock of enter().
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/threads.h"
#include "engine/backends/cuda/emulator/blocks.h"
#include "engine/backends/cuda/emulator/captures.h"
#include "engine/backends/cuda/emulator/options.h"
#include "engine/backends/cuda/emulator/queues.h"
#include "engine/backends/cuda/emulator/races.h"
#include "engine/backends/cuda/libraries/driver.h"
#include "engine/device/accesses.h"

namespace hone::cuda {
namespace fake {

struct Module {
  int64_t number = 0;
  bool unloaded = false;
};

struct Function {
  const emulate::Function* code = nullptr;
  Module* module = nullptr;
  int64_t shared_bytes = 0;  // the most that a launch may ask for
};

// The most shared memory of a block, on request and without one (CUDA C++ Programming Guide,
// compute capabilities).
int64_t most_shared_bytes(int major, int minor);
inline constexpr int64_t kSharedBytes = 48 << 10;

}  // namespace fake

struct FakeState {
  explicit FakeState(FakeOptions o);

  const FakeOptions options;
  Driver table;
  uint64_t number = 0;  // of this driver in the process
  fake::Blocks blocks;
  fake::Races races;
  fake::Clock host;
  fake::Queues queues;
  fake::Handles<fake::Event> events;
  fake::Handles<fake::Module> modules;
  fake::Handles<fake::Function> functions;
  fake::Handles<fake::Graph> graphs;
  fake::Handles<fake::GraphExec> execs;
  std::optional<fake::Capture> capture;  // that is open
  int retained = 0;                      // of the primary context
  bool in_step = false;
  CUresult failed = CUDA_SUCCESS;  // what queued work has left for the next wait

  // The call that is being made.
  int64_t calls = 0;
  const char* function = "";
  std::string kernel;
  const fake::Stream* on = nullptr;
  std::string where() const;  // "call 12 (cuLaunchKernel of 'square' on stream 1)"

  // `what` follows where(), without a full stop: "frees it twice".
  void find(const std::string& what) { find_at(where(), what); }
  void find_at(const std::string& where, const std::string& what);
  std::vector<std::string> findings;
  int64_t more_findings = 0;

  // Null, with a finding: it was never there or is destroyed. The null stream is one, with a
  // finding.
  fake::Stream* stream(CUstream handle);
  fake::Event* event(CUevent handle);
  // Null, with a finding: bytes that are freed, of no block, or beyond their block.
  fake::Block* block(const void* at, int64_t bytes);
  void not_in_step(const char* what);

  // Queues work that accesses these bytes; races are findings. Null: a capture has noted it.
  std::shared_ptr<fake::Op> queue(fake::Stream& s, std::span<const Access> accesses,
                                  std::function<void()> work);
  // Work given to the stream from now on starts after that entry, if there is one.
  void wait(fake::Stream& s, const std::shared_ptr<fake::Op>& after, const fake::Clock& clock);
  // The host accesses bytes now; `what`: "frees" or "writes".
  void host_access(const Access& a, const char* what);
  void host_waits_for(const std::shared_ptr<fake::Op>& op, const fake::Clock& clock);

 private:
  void run(fake::Op& op);
  std::shared_ptr<const fake::Doer> doer(size_t actor) const;
};

namespace fake {

// The accesses that this thread has noted since its last launch.
std::vector<Access> take_noted(const FakeState& s);

// Calls body(state) for a function of the table: one thread at a time, from the host only, with a
// context that is current unless `context` is false.
CUresult enter(const char* function, FunctionRef<CUresult(FakeState&)> body, bool context = true);
void set_current_context(const FakeState& s, bool set);

// Each fills in its functions of the table.
void add_device_functions(Driver& t);
void add_memory_functions(Driver& t);
void add_stream_functions(Driver& t);
void add_copy_functions(Driver& t);
void add_launch_functions(Driver& t);
void add_graph_functions(Driver& t);

inline void* pointer(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

}  // namespace fake
}  // namespace hone::cuda
