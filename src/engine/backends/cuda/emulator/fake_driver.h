// A CUDA driver that needs no GPU: it runs emulated kernels on the CPU and checks every call.
//
//   FakeDriver fake({.execution = Execution::as_late_as_possible});
//   auto backend = make_cuda_backend(fake.table(), 0, emulated_modules);
//   ...
//   backend.reset();
//   EXPECT_EQ(fake.finish(), std::vector<std::string>{});
//
// Device memory kills host code that touches it. Work is queued, and done when something waits for
// it, in an order that CUDA allows: work that lacks a wait gives wrong results in some order.
// Besides, vector clocks find such work in every order, so one run is enough to see it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backends/cuda/emulator/options.h"
#include "engine/backends/cuda/libraries/driver.h"
#include "engine/device/accesses.h"

namespace hone::cuda {

// Set on a thread that runs another backend: its accesses are not recorded. An exchange of ranks holds the driver's
// lock, and such a thread may be the other rank.
inline thread_local bool fake_driver_skips_thread = false;

// One at a time in a process. Its table may be used by several threads; the driver takes what host
// threads do as ordered. A host function must not wait for another thread that calls the driver,
// and the host must not wait for a host function but by the driver.
class FakeDriver {
 public:
  explicit FakeDriver(FakeOptions options = {});
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;

  const Driver& table() const;

  // Between these, findings are: to allocate, to free, to wait on the host, to load a module, to
  // create a stream or an event.
  void begin_step();
  void end_step();

  // The mistakes so far, in the order of the calls: one sentence each, with the number of the call,
  // its stream and its kernel. At most 1,000, then their number.
  std::vector<std::string> findings() const;
  // Does what is still queued, and adds what was never freed to the findings.
  std::vector<std::string> finish();

 private:
  std::unique_ptr<struct FakeState> state_;
};

}  // namespace hone::cuda
