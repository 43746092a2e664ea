// A CUDA driver that needs no GPU: it runs emulated kernels on the CPU and checks every call.
//
//   FakeDriver fake({.execution = Execution::as_late_as_possible});
//   auto backend = make_cuda_backend(fake.table(), 0, emulated_modules);
//   ...
//   backend.reset();
//   EXPECT_EQ(fake.finish(), std::vector<std::string>{});
//
// Host code that touches device memory ends the process. Work of streams is queued and runs later
// (options.h: Execution), in an order that CUDA allows, so a missing wait gives wrong results in some
// order. In addition, vector clocks find a missing wait in every order, so one run is enough to see it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backends/cuda/emulator/options.h"
#include "engine/backends/cuda/libraries/driver.h"
#include "engine/device/accesses.h"

namespace hone::cuda {

// Set it to true on a thread that runs another backend. Memory accesses of this thread are then not recorded, and the
// thread does not take the driver's lock. Needed if this thread is the other rank of an exchange: the exchange holds
// the lock while it waits for this thread.
inline thread_local bool fake_driver_skips_thread = false;

// A process may have one FakeDriver at a time; a second one is a bug. Several threads may use its table. The race check
// treats all host threads as one thread. A host function must not wait for a thread that calls the driver. The host may
// wait for a host function only by calling the driver.
class FakeDriver {
 public:
  explicit FakeDriver(FakeOptions options = {});
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;

  const Driver& table() const;

  // Between these two calls it is a mistake to allocate or free memory, to wait on the host, to load a module, or to
  // create a stream or an event.
  void begin_step();
  void end_step();

  // The mistakes so far, in the order of the calls. Each is a sentence with the number of the call, its stream and its
  // kernel. After 1,000 sentences a last one gives the number of further mistakes.
  std::vector<std::string> findings() const;
  // Runs the work that is still queued, adds a mistake for each object that was never freed, and returns findings().
  std::vector<std::string> finish();

 private:
  std::unique_ptr<struct FakeState> state_;
};

}  // namespace hone::cuda
