// What kernels may take of a multiprocessor.
#pragma once

#include <gtest/gtest.h>

#include "engine/backends/cuda/compile/compile.h"

namespace hone::cuda {

// Compiles all kernels, and returns their number.
inline size_t expect_lean_kernels(const KernelCompiler& nvrtc, const std::string& architecture) {
  constexpr int kMostRegisters = 64;  // 1,024 threads of a multiprocessor's 65,536 registers
  constexpr int64_t kMostShared = 48 << 10;
  Result<KernelCompiler::Compiled> c = nvrtc.compile(architecture);
  EXPECT_TRUE(c.ok()) << c.error().text();
  if (!c.ok()) return 0;
  EXPECT_GT(c->cubin.size(), 1000u);
  for (const auto& [name, use] : c->uses) {
    EXPECT_GT(use.registers, 0) << name;
    EXPECT_LE(use.registers, kMostRegisters) << name << " for " << architecture;
    EXPECT_EQ(use.spilled, 0) << name << " for " << architecture;
    EXPECT_LE(use.shared, kMostShared) << name << " for " << architecture;
  }
  return c->uses.size();
}

}  // namespace hone::cuda
