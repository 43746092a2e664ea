// The state that the functions of the fake driver share. They use it inside of enter(), which holds a lock.
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
  int64_t shared_bytes = 0;  // dynamic shared memory that cuFuncSetAttribute allows
};

// The most shared memory of a block that a kernel can request with cuFuncSetAttribute, for a compute capability (CUDA
// C++ Programming Guide).
int64_t most_shared_bytes(int major, int minor);
// The most shared memory of a block without a request.
inline constexpr int64_t kSharedBytes = 48 << 10;

}  // namespace fake

struct FakeState {
  explicit FakeState(FakeOptions o);

  const FakeOptions options;
  Driver table;
  uint64_t number = 0;  // 1 for the first driver of the process
  fake::Blocks blocks;
  fake::Races races;
  fake::Clock host;
  fake::Queues queues;
  fake::Handles<fake::Event> events;
  fake::Handles<fake::Module> modules;
  fake::Handles<fake::Function> functions;
  fake::Handles<fake::Graph> graphs;
  fake::Handles<fake::GraphExec> execs;
  std::optional<fake::Capture> capture;  // the capture under way
  int retained = 0;                      // how many times the primary context is retained
  bool in_step = false;                  // between begin_step() and end_step()
  CUresult failed = CUDA_SUCCESS;        // a failure of queued work, which the next wait returns

  // The call under way: its number, its function, and the kernel and the stream that it uses.
  int64_t calls = 0;
  const char* function = "";
  std::string kernel;
  const fake::Stream* on = nullptr;
  std::string where() const;  // "call 12 (cuLaunchKernel of 'square' on stream 1)"

  // Adds a finding, a sentence that begins with where(). `what`: the rest, such as "frees it twice", without a full
  // stop.
  void find(const std::string& what) { find_at(where(), what); }
  void find_at(const std::string& where, const std::string& what);
  std::vector<std::string> findings;
  int64_t more_findings = 0;  // those after the first 1,000

  // The object of a handle. Null, with a finding, if it was never created or is destroyed. Handle 0 is the null stream,
  // whose use is a finding too.
  fake::Stream* stream(CUstream handle);
  fake::Event* event(CUevent handle);
  // The block that contains these bytes. Null, with a finding, if no block contains the first byte, the block is freed,
  // or the bytes pass its end.
  fake::Block* block(const void* at, int64_t bytes);
  // Adds a finding if a step or a capture is under way. `what`: the call, such as "allocates memory".
  void not_in_step(const char* what);

  // Queues work that accesses these bytes, and adds a finding for each race. Null: a capture recorded the work.
  std::shared_ptr<fake::Op> queue(fake::Stream& s, std::span<const Access> accesses,
                                  std::function<void()> work);
  // Makes the stream wait for entry `after` (null: for nothing). clock: the actions that happen before the entry's end.
  void wait(fake::Stream& s, const std::shared_ptr<fake::Op>& after, const fake::Clock& clock);
  // Records an access of the host, and adds a finding if it races with queued work. `what`: "frees", "reads", "writes".
  void host_access(const Access& a, const char* what);
  // Runs queued work until `op` is done (null: none). clock: the actions that happen before the host's next action.
  void host_waits_for(const std::shared_ptr<fake::Op>& op, const fake::Clock& clock);

 private:
  void run(fake::Op& op);
  std::shared_ptr<const fake::Doer> doer(size_t actor) const;
};

namespace fake {

// Returns the accesses that this thread declared (note_accesses) since its last launch, and forgets them.
std::vector<Access> take_noted(const FakeState& s);

// Calls body(state) for a function of the driver's table. It holds a lock, so one thread at a time runs. If `context`
// is true, the thread must have a current context. A call without the context, and a call from a host function of a
// stream, are findings and return an error.
CUresult enter(const char* function, FunctionRef<CUresult(FakeState&)> body, bool context = true);
// Sets the current context of this thread: the primary context, or none if `set` is false.
void set_current_context(const FakeState& s, bool set);

// Each sets some members of the table.
void add_device_functions(Driver& t);
void add_memory_functions(Driver& t);
void add_stream_functions(Driver& t);
void add_copy_functions(Driver& t);
void add_launch_functions(Driver& t);
void add_graph_functions(Driver& t);

inline void* pointer(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

}  // namespace fake
}  // namespace hone::cuda
