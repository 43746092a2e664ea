// A test of how many registers and how much shared memory the kernels use.
#pragma once

#include <gtest/gtest.h>

#include "engine/backends/cuda/libraries/compile.h"

namespace hone::cuda {

// The most registers of a thread, by the kernel's name. A multiprocessor has 65,536 registers: with 64 for each thread
// it runs 1,024 threads. Kernels that keep a tile, a row or optimizer states in registers may use 128 (512 threads),
// and kernels with a tile for each warp 255 (two blocks of 128 threads).
inline int most_registers(const std::string& kernel) {
  constexpr std::pair<std::string_view, int> kMost[] = {
      {"warp_attention_", 255}, {"flash_attention_", 255},
      {"wg_attention_", 255},   {"attention_", 128},
      {"update_", 128},         {"adamw_", 128},
      {"norm_", 128},           {"cross_entropy_", 128},
      {"few_rows_", 128},       {"activation_grad_sums_", 128},
      {"dropout_sums_", 128},   {"paged_attention_", 128},
      {"conv_", 128},           {"max_pool_grad_", 128}};
  for (const auto& [begin, registers] : kMost)
    if (kernel.starts_with(begin)) return registers;
  return 64;
}

// Compiles all kernels, expects them to keep the limits and to spill no register, and returns the number of kernels.
inline size_t expect_lean_kernels(const KernelCompiler& nvrtc, const std::string& architecture) {
  constexpr int64_t kMostShared = 48 << 10;
  Result<KernelCompiler::Compiled> c = nvrtc.compile(architecture);
  EXPECT_TRUE(c.ok()) << c.error().text();
  if (!c.ok()) return 0;
  EXPECT_GT(c->cubin.size(), 1000u);
  for (const auto& [name, use] : c->uses) {
    EXPECT_GT(use.registers, 0) << name;
    EXPECT_LE(use.registers, most_registers(name)) << name << " for " << architecture;
    EXPECT_EQ(use.spilled, 0) << name << " for " << architecture;
    EXPECT_LE(use.shared, kMostShared) << name << " for " << architecture;
  }
  return c->uses.size();
}

}  // namespace hone::cuda
