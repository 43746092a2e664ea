// Bugs that are planted in the use of a driver: each of them is found.
#include "engine/backends/cuda/emulator/fake_driver.h"

#include <gtest/gtest.h>

#include "engine/backends/cuda/emulator/emulate.h"

namespace hone::cuda {
namespace {

__global__ void add_one(const int* x, int* y, int n) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    y[i] = x[i] + 1;
}
// Reads what it does not note.
__global__ void add_next(const int* x, int* y, int n) {
  if (threadIdx.x == 0) y[0] = x[n];
}
const bool kernels_are_there =
    emulate::add<add_one>("add_one_of_test") && emulate::add<add_next>("add_next_of_test");

constexpr int kCount = 64;
constexpr int64_t kBytes = kCount * 4;

// Two streams, an event, two device blocks and a pinned one; what is right. Tests leave something
// out.
class FakeDriverTest : public testing::Test {
 protected:
  void open(FakeOptions options = {.execution = Execution::as_late_as_possible}) {
    fake = std::make_unique<FakeDriver>(options);
    d = fake->table();
    CUcontext context = nullptr;
    d.cuDevicePrimaryCtxRetain(&context, 0);
    d.cuCtxSetCurrent(context);
    d.cuModuleLoadData(&module, kEmulatedImage);
    d.cuModuleGetFunction(&function, module, "add_one_of_test");
    d.cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING);
    d.cuStreamCreate(&load, CU_STREAM_NON_BLOCKING);
    d.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    d.cuMemAlloc(&x, kBytes);
    d.cuMemAlloc(&y, kBytes);
    void* at = nullptr;
    d.cuMemHostAlloc(&at, kBytes, 0);
    pinned = static_cast<int*>(at);
    for (int i = 0; i < kCount; ++i) pinned[i] = i;
  }
  void launch(CUstream stream, CUdeviceptr from, CUdeviceptr to, int64_t noted = kBytes) {
    const Access accesses[] = {{reinterpret_cast<void*>(from), noted, false},
                               {reinterpret_cast<void*>(to), noted, true}};
    note_accesses(accesses);
    int n = kCount;
    void* arguments[] = {&from, &to, &n};
    d.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
    from = to = 0;  // the driver has copied them
  }
  void up(CUstream stream) {
    d.cuMemcpyAsync(x, reinterpret_cast<CUdeviceptr>(pinned), kBytes, stream);
  }
  void down(CUstream stream) {
    d.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(pinned), y, kBytes, stream);
  }
  // Makes a graph of the calls, ready to launch.
  template <class Calls>
  CUgraphExec noted(Calls calls) {
    EXPECT_EQ(d.cuStreamBeginCapture(compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    calls();
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_EQ(d.cuStreamEndCapture(compute, &graph), CUDA_SUCCESS);
    EXPECT_EQ(d.cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    d.cuGraphDestroy(graph);
    return exec;
  }
  void wait(CUstream stream, CUstream other) {
    d.cuEventRecord(event, other);
    d.cuStreamWaitEvent(stream, event, 0);
  }
  void close() {
    d.cuStreamSynchronize(compute);
    d.cuStreamSynchronize(load);
    d.cuMemFree(x);
    d.cuMemFree(y);
    d.cuMemFreeHost(pinned);
    d.cuEventDestroy(event);
    d.cuStreamDestroy(load);
    d.cuStreamDestroy(compute);
    d.cuModuleUnload(module);
    d.cuDevicePrimaryCtxRelease(0);
  }
  // The findings, including those at the end of the driver.
  std::string found() {
    std::string all;
    for (const std::string& f : fake->finish()) all += f + "\n";
    fake.reset();
    return all;
  }
  void expect_found(const std::string& part) {
    const std::string all = found();
    EXPECT_NE(all.find(part), std::string::npos) << "not found: " << part << "\n" << all;
  }

  std::unique_ptr<FakeDriver> fake;
  Driver d;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUstream compute = nullptr, load = nullptr;
  CUevent event = nullptr;
  CUdeviceptr x = 0, y = 0;
  int* pinned = nullptr;
};

TEST_F(FakeDriverTest, RightCodeHasNoFindings) {
  ASSERT_TRUE(kernels_are_there);
  for (const Execution e :
       {Execution::at_once, Execution::as_late_as_possible, Execution::shuffled}) {
    open({.execution = e, .checks_notes = true});
    up(load);
    wait(compute, load);
    launch(compute, x, y);
    down(compute);
    d.cuStreamSynchronize(compute);
    for (int i = 0; i < kCount; ++i) EXPECT_EQ(pinned[i], i + 1);
    close();
    EXPECT_EQ(found(), "");
  }
}

TEST_F(FakeDriverTest, MissingWait) {
  open();
  up(load);
  launch(compute, x, y);
  down(compute);
  d.cuStreamSynchronize(compute);
  EXPECT_NE(pinned[5], 6) << "nothing made the copy go first";
  close();
  expect_found("nothing orders it after");
}

TEST_F(FakeDriverTest, MissingWaitThatHappensToWork) {
  open({.execution = Execution::at_once});
  up(load);
  launch(compute, x, y);
  close();
  expect_found("nothing orders it after");
}

TEST_F(FakeDriverTest, WrongStream) {
  open();
  up(load);
  wait(compute, load);
  launch(load, x, y);
  down(compute);
  close();
  expect_found("nothing orders it after");
}

TEST_F(FakeDriverTest, EventThatIsRecordedTooEarly) {
  open();
  d.cuEventRecord(event, load);
  up(load);
  d.cuStreamWaitEvent(compute, event, 0);
  launch(compute, x, y);
  close();
  expect_found("nothing orders it after");
}

TEST_F(FakeDriverTest, EventThatIsNeverRecorded) {
  open();
  d.cuStreamWaitEvent(compute, event, 0);
  close();
  expect_found("which was never recorded");
}

TEST_F(FakeDriverTest, BufferThatIsUsedAgainTooEarly) {
  open();
  up(compute);
  launch(compute, x, y);
  d.cuMemsetD8Async(x, 0, kBytes, load);  // the kernel may still read it
  close();
  expect_found("nothing orders it after");
}

TEST_F(FakeDriverTest, MemoryThatIsFreedWhileItIsUsed) {
  open();
  up(compute);
  d.cuMemFree(x);
  d.cuMemAlloc(&x, kBytes);
  close();
  expect_found("the host has not waited for");
}

TEST_F(FakeDriverTest, MemoryThatIsUsedAfterItWasFreed) {
  open();
  const CUdeviceptr old = x;
  d.cuMemFree(x);
  d.cuMemAlloc(&x, kBytes);
  launch(compute, old, y);
  close();
  expect_found("freed");
}

TEST_F(FakeDriverTest, BytesPastTheEnd) {
  open();
  launch(compute, x + 4, y);
  close();
  expect_found("bytes 4 to 260 of device block");
}

TEST_F(FakeDriverTest, WhatAKernelReadsAndDoesNotNote) {
  open({.execution = Execution::at_once, .checks_notes = true});
  d.cuMemsetD8Async(x, 1, kBytes, compute);
  d.cuModuleGetFunction(&function, module, "add_next_of_test");
  int n = kCount / 2;
  void* arguments[] = {&x, &y, &n};
  const Access accesses[] = {{reinterpret_cast<void*>(x), kBytes / 2, false},
                             {reinterpret_cast<void*>(y), 4, true}};
  note_accesses(accesses);
  d.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, compute, arguments, nullptr);
  d.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(pinned), y, 4, compute);
  d.cuStreamSynchronize(compute);
  EXPECT_EQ(pinned[0], -1) << "it is hidden";
  close();
  EXPECT_EQ(found(), "");
}

TEST_F(FakeDriverTest, WhatAKernelWritesAndDoesNotNote) {
  open({.execution = Execution::at_once, .checks_notes = true});
  launch(compute, x, y, kBytes / 2);
  close();
  expect_found("which it does not note");
}

TEST_F(FakeDriverTest, HostThatReadsTooEarly) {
  open();
  up(compute);
  launch(compute, x, y);
  down(compute);
  const Access access{pinned, kBytes, false};
  note_host_accesses({&access, 1});
  close();
  expect_found("the host has not waited for");
}

TEST_F(FakeDriverTest, WhatAStepMayNotDo) {
  open();
  fake->begin_step();
  CUevent other = nullptr;
  d.cuEventCreate(&other, 0);
  d.cuStreamSynchronize(compute);
  CUdeviceptr more = 0;
  d.cuMemAlloc(&more, 16);
  d.cuMemFree(more);
  int pageable[kCount] = {};
  d.cuMemcpyAsync(x, reinterpret_cast<CUdeviceptr>(pageable), kBytes, compute);
  fake->end_step();
  d.cuEventDestroy(other);
  close();
  const std::string all = found();
  for (const char* what : {"creates an event", "waits on the host", "allocates memory",
                           "frees memory", "copies memory that is not pinned"})
    EXPECT_NE(all.find(std::string(what) + " inside a step"), std::string::npos) << what << all;
}

TEST_F(FakeDriverTest, WhatIsDestroyedOrLeft) {
  open();
  CUstream third = nullptr;
  d.cuStreamCreate(&third, 0);
  d.cuStreamDestroy(third);
  d.cuMemsetD8Async(x, 0, kBytes, third);
  d.cuMemsetD8Async(x, 0, kBytes, nullptr);
  CUdeviceptr more = 0;
  d.cuMemAlloc(&more, 16);
  close();
  const std::string all = found();
  for (const char* what :
       {"after it was destroyed", "uses the null stream", "device block 4 (16 bytes) is left"})
    EXPECT_NE(all.find(what), std::string::npos) << what << "\n" << all;
}

// A graph of a copy on a stream of its own, and a kernel that waits for it.
TEST_F(FakeDriverTest, GraphsDoWhatWasNoted) {
  for (const Execution e :
       {Execution::at_once, Execution::as_late_as_possible, Execution::shuffled}) {
    open({.execution = e, .checks_notes = true});
    const CUgraphExec graph = noted([&] {
      wait(load, compute);
      up(load);
      wait(compute, load);
      launch(compute, x, y);
      down(compute);
    });
    EXPECT_EQ(pinned[3], 3) << "it is only noted";
    for (int k = 0; k < 3; ++k) d.cuGraphLaunch(graph, compute);
    d.cuStreamSynchronize(compute);
    for (int i = 0; i < kCount; ++i) EXPECT_EQ(pinned[i], i + 3);
    d.cuGraphExecDestroy(graph);
    close();
    EXPECT_EQ(found(), "");
  }
}

TEST_F(FakeDriverTest, GraphWhoseStreamsAreNotOrdered) {
  open({.execution = Execution::at_once});
  const CUgraphExec graph = noted([&] {
    wait(load, compute);
    launch(compute, x, y);
    up(load);
    wait(compute, load);
  });
  d.cuGraphLaunch(graph, compute);
  d.cuGraphExecDestroy(graph);
  close();
  expect_found("nothing orders it after");
}

TEST_F(FakeDriverTest, GraphWithAStaleArgument) {
  open();
  const CUgraphExec graph = noted([&] { launch(compute, x, y); });
  d.cuMemFree(x);
  d.cuMemAlloc(&x, kBytes);
  d.cuGraphLaunch(graph, compute);
  d.cuGraphExecDestroy(graph);
  close();
  expect_found("(cuGraphLaunch of 'add_one_of_test' on stream 1) uses device block 1 (256 bytes)");
}

TEST_F(FakeDriverTest, WhatACaptureMayNotDo) {
  open();
  d.cuEventRecord(event, load);
  d.cuStreamBeginCapture(compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(d.cuStreamWaitEvent(compute, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(d.cuStreamSynchronize(compute), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  wait(load, compute);
  up(load);
  CUgraph graph = nullptr;
  EXPECT_EQ(d.cuStreamEndCapture(compute, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  d.cuStreamWaitEvent(compute, event, 0);
  const CUgraphExec exec = noted([&] { launch(compute, x, y); });
  d.cuGraphExecDestroy(exec);
  EXPECT_EQ(d.cuGraphLaunch(exec, compute), CUDA_ERROR_INVALID_HANDLE);
  close();
  const std::string all = found();
  for (const char* what :
       {"waits inside a capture for event 1, which is not of it",
        "waits on the host inside a capture",
        "ends a capture with work that its stream does not wait for", "which was never recorded",
        "uses executable graph 1 after it was destroyed"})
    EXPECT_NE(all.find(what), std::string::npos) << what << "\n" << all;
}

TEST_F(FakeDriverTest, LaunchesThatNoGpuTakes) {
  open();
  int n = 1;
  void* arguments[] = {&x, &y, &n};
  EXPECT_NE(d.cuLaunchKernel(function, 1, 1 << 17, 1, 32, 1, 1, 0, compute, arguments, nullptr),
            CUDA_SUCCESS);
  EXPECT_NE(d.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 60 << 10, compute, arguments, nullptr),
            CUDA_SUCCESS);
  d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60 << 10);
  const Access access{reinterpret_cast<void*>(x), kBytes, false};
  const Access written{reinterpret_cast<void*>(y), kBytes, true};
  note_accesses({&access, 1});
  note_accesses({&written, 1});
  EXPECT_EQ(d.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 60 << 10, compute, arguments, nullptr),
            CUDA_SUCCESS);
  close();
  const std::string all = found();
  EXPECT_NE(all.find("has a grid of 1 x 131072 x 1 blocks"), std::string::npos) << all;
  EXPECT_NE(all.find("asks for 61440 bytes of shared memory"), std::string::npos) << all;
}

}  // namespace
}  // namespace hone::cuda
