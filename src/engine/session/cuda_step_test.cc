// Rules for each step on a GPU: after the first one the host waits once and nothing is allocated,
// and the driver allocates the planned memory. Always on the emulated driver; on the machine's GPU
// if HONE_TEST_DEVICES names cuda.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/backends/cuda/backend.h"
#include "engine/backends/cuda/emulator/fake_driver.h"
#include "engine/backends/cuda/emulator/kernels.h"
#include "engine/backends/cuda/libraries/compile.h"
#include "engine/backends/tested_backends_test.h"
#include "engine/session/places_test.h"
#include "engine/session/session.h"

namespace hone {
namespace {

using namespace cuda;  // NOLINT: the names of a table of functions

Driver real_driver;
int64_t waits, allocations, copies;

// Counts what a step may not do, or may do once.
Driver counting(const Driver& driver) {
  real_driver = driver;
  Driver d = driver;
  d.cuStreamSynchronize = [](CUstream s) { return ++waits, real_driver.cuStreamSynchronize(s); };
  d.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
    return ++copies, real_driver.cuMemcpyAsync(to, from, n, s);
  };
  d.cuMemAlloc = [](CUdeviceptr* at, size_t n) {
    return ++allocations, real_driver.cuMemAlloc(at, n);
  };
  d.cuMemHostAlloc = [](void** at, size_t n, unsigned flags) {
    return ++allocations, real_driver.cuMemHostAlloc(at, n, flags);
  };
  d.cuStreamCreate = [](CUstream* s, unsigned flags) {
    return ++allocations, real_driver.cuStreamCreate(s, flags);
  };
  d.cuEventCreate = [](CUevent* e, unsigned flags) {
    return ++allocations, real_driver.cuEventCreate(e, flags);
  };
  d.cuGraphInstantiate = [](CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    return ++allocations, real_driver.cuGraphInstantiate(exec, graph, flags);
  };
  return d;
}

int64_t free_bytes() {
  size_t free = 0, all = 0;
  EXPECT_EQ(real_driver.cuMemGetInfo(&free, &all), CUDA_SUCCESS);
  return static_cast<int64_t>(free);
}

void expect_quiet_steps(const Driver& driver, const KernelModules& modules, Space home) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("cuda_step.{}", getpid());
  const auto backend = std::move(make_cuda_backend(counting(driver), 0, modules).value());
  std::vector<Program> programs;
  programs.push_back(step(home));
  Session s = std::move(Session::compile(std::move(programs), *backend).value());
  const int64_t before = free_bytes();
  ASSERT_TRUE(s.allocate(folder.string()).ok());
  const int64_t planned = s.plan().arena_bytes(Space::device), taken = before - free_bytes();
  constexpr int64_t kPage = 2 << 20;  // the driver gives whole ones
  EXPECT_GE(taken, planned);
  EXPECT_LE(taken, planned + planned / 100 + kPage);
  for (int k = 0; k < 4; ++k) {
    for (float& x : s.input<float>(0, "x")) x = 1;
    waits = allocations = copies = 0;
    s.run(0);
    if (k == 0) continue;
    EXPECT_EQ(waits, 1) << k;
    EXPECT_EQ(allocations, 0) << k;
    EXPECT_EQ(copies, 0) << k << ": those of inputs and outputs are in the graph";
  }
  EXPECT_TRUE(s.check().ok());
  for (int m = 0; m < kStates; ++m)
    EXPECT_EQ(s.state_values<float>(fmt::format("m{}", m)), std::vector<float>(kCount, 4)) << m;
  std::filesystem::remove_all(folder);
}

TEST(CudaStep, IsQuietOnTheEmulatedDriver) {
  add_emulated_kernels();
  for (const Space home : kSpaces) {
    FakeDriver fake;
    expect_quiet_steps(fake.table(), emulated_modules, home);
    EXPECT_EQ(fake.finish(), std::vector<std::string>{}) << name_of(home);
  }
}

TEST(CudaStep, IsQuietOnAGpu) {
  if (!tests_a_gpu()) GTEST_SKIP() << "HONE_TEST_DEVICES does not name cuda";
  const Driver driver = load_driver().value();
  const KernelCompiler nvrtc = std::move(KernelCompiler::open().value());
  const auto modules = [&](const std::string& arch, const std::set<std::string>& names) {
    return nvrtc.kernels_for(arch, names);
  };
  for (const Space home : kSpaces) expect_quiet_steps(driver, modules, home);
}

}  // namespace
}  // namespace hone
