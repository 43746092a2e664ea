#include "engine/backends/cuda/emulator/grid.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "base/core/error.h"
#include "engine/backends/cuda/emulator/emulate.h"

namespace hone {
namespace {

using emulate::Order;

constexpr Order kOrders[] = {Order::forward, Order::backward, Order::shuffled};

__global__ void square(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = x[i] * x[i];
}

TEST(Grid, CallsEachThreadOnce) {
  std::vector<float> x(1000), y(1000);
  std::iota(x.begin(), x.end(), 0.0f);
  const float* from = x.data();
  float* to = y.data();
  int n = 1000;
  void* arguments[] = {&from, &to, &n};
  emulate::run_grid({.grid = {8}, .block = {128}}, [&] { emulate::run<square>(arguments); });
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], x[i] * x[i]);
}

const bool square_is_there = emulate::add<square>("square_of_grid_test");

TEST(Grid, FindsKernelsByTheirNames) {
  EXPECT_TRUE(square_is_there);
  EXPECT_EQ(emulate::find_function("cube_of_grid_test"), nullptr);
  const emulate::Function* f = emulate::find_function("square_of_grid_test");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(std::vector<size_t>(f->argument_bytes.begin(), f->argument_bytes.end()),
            (std::vector<size_t>{8, 8, 4}));
  EXPECT_THROW(emulate::add<square>("square_of_grid_test"), Bug);
}

// A sum by halves in shared memory.
__global__ void sum_block(const int* x, int* y, bool waits) {
  __shared__ int part[128];
  const unsigned t = threadIdx.x;
  part[t] = x[blockIdx.x * 128 + t];
  for (unsigned half = 64; half > 0; half /= 2) {
    if (waits) __syncthreads();
    if (t < half) part[t] += part[t + half];
  }
  if (t == 0) y[blockIdx.x] = part[0];
}

TEST(Grid, WaitsAtBarriers) {
  std::vector<int> x(256), y(2);
  std::iota(x.begin(), x.end(), 0);
  const int* from = x.data();
  int* to = y.data();
  bool waits = true;
  void* arguments[] = {&from, &to, &waits};
  for (const Order order : kOrders) {
    emulate::run_grid({.grid = {2}, .block = {128}, .order = order},
                      [&] { emulate::run<sum_block>(arguments); });
    EXPECT_EQ(y[0], 127 * 128 / 2);
    EXPECT_EQ(y[1], 255 * 256 / 2 - y[0]);
  }
  // The result depends on the order if there is no barrier.
  waits = false;
  std::set<int> sums;
  for (const Order order : kOrders) {
    emulate::run_grid({.block = {128}, .order = order},
                      [&] { emulate::run<sum_block>(arguments); });
    sums.insert(y[0]);
  }
  EXPECT_GT(sums.size(), 1u);
}

TEST(Grid, WarpsExchange) {
  for (const Order order : kOrders)
    emulate::run_grid({.block = {96}, .order = order}, [] {
      const int lane = static_cast<int>(threadIdx.x % 32);
      double sum = lane;
      for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      EXPECT_EQ(sum, 31 * 32 / 2);
      EXPECT_EQ(__shfl_sync(~0u, lane, 5), 5);
      EXPECT_EQ(__shfl_down_sync(~0u, lane, 1u), std::min(lane + 1, 31));
      EXPECT_EQ(__shfl_up_sync(~0u, lane, 2u), lane < 2 ? lane : lane - 2);
      EXPECT_EQ(__ballot_sync(~0u, lane % 2 == 1), 0xaaaaaaaau);
      EXPECT_EQ(__any_sync(~0u, lane == 40), 0);
    });
}

TEST(Grid, AHalfWarpIsAWarpOfItsOwn) {
  emulate::run_grid({.block = {32}}, [] {
    const int lane = static_cast<int>(threadIdx.x);
    if (lane < 16) {
      EXPECT_EQ(__shfl_xor_sync(0xffffu, lane, 1), lane ^ 1);
    }
    EXPECT_EQ(__shfl_sync(~0u, lane, 31), 31);
  });
}

TEST(Grid, ABarrierThatSomeDoNotReachIsABug) {
  EXPECT_THROW(emulate::run_grid({.block = {64}},
                                 [] {
                                   if (threadIdx.x < 32) __syncthreads();
                                 }),
               Bug);
  EXPECT_THROW(emulate::run_grid({.block = {32}},
                                 [] {
                                   if (threadIdx.x != 7) __syncwarp(~0u);
                                 }),
               Bug);
}

TEST(Grid, ThreadsHavePlaces) {
  std::vector<int> seen(2 * 3 * 4 * 2);
  emulate::run_grid({.grid = {2}, .block = {4, 3, 2}, .shared_bytes = 64}, [&] {
    const unsigned at =
        ((blockIdx.x * blockDim.z + threadIdx.z) * blockDim.y + threadIdx.y) * blockDim.x +
        threadIdx.x;
    ++seen[at];
    EXPECT_EQ(gridDim.x, 2u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(emulate::shared_bytes()) % 128, 0u);
  });
  for (const int n : seen) EXPECT_EQ(n, 1);
}

// Each lane copies 16 bytes; lane 0 of a warp reads what the others copied.
__global__ void copy_to_shared(const int* x, int* y, bool waits) {
  alignas(16) __shared__ int part[32 * 4];
  const unsigned t = threadIdx.x;
  emulate::copy_later(part + 4 * t, x + 4 * t, t % 2 == 0 ? 16 : 0);
  if (waits) {
    emulate::commit_copies();
    emulate::finish_copies();
  }
  __syncthreads();
  for (unsigned i = 0; t == 0 && i < 128; ++i) y[i] = part[i];
}

TEST(Grid, CopiesAreThereAfterAWait) {
  alignas(16) int x[128];
  std::iota(std::begin(x), std::end(x), 1);
  std::vector<int> y(128);
  for (const Order order : kOrders)
    for (const bool waits : {true, false}) {
      emulate::run_grid({.block = {32}, .order = order},
                        [&] { copy_to_shared(x, y.data(), waits); });
      for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(y[i] == (i / 4 % 2 == 0 ? x[i] : 0), waits) << i;
    }
  EXPECT_THROW(emulate::run_grid({}, [&] { emulate::copy_later(x + 1, x, 16); }), Bug);
}

TEST(Grid, ReducesOverAWarp) {
  std::vector<int> sums(64), most(64);
  emulate::run_grid({.block = {64}}, [&] {
    const int t = static_cast<int>(threadIdx.x);
    sums[threadIdx.x] = __reduce_add_sync(~0u, t);
    most[threadIdx.x] = __reduce_max_sync(~0u, -t);
  });
  for (size_t t = 0; t < 64; ++t) {
    EXPECT_EQ(sums[t], t < 32 ? 496 : 1520);
    EXPECT_EQ(most[t], t < 32 ? 0 : -32);
  }
  EXPECT_EQ(__popc(0xf0f0u), 8);
}

}  // namespace
}  // namespace hone
