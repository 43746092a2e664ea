// All kernels for every architecture: NVRTC 13 for capability 7.5 and up, NVRTC 12 (HONE_NVRTC_12) for
// V100's 7.0.
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/backends/cuda/libraries/lean_kernels_test.h"

namespace hone::cuda {
namespace {

TEST(CompileAll, FromT4ToB200) {
  const Result<KernelCompiler> nvrtc = KernelCompiler::open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().text();
  const size_t kernels = expect_lean_kernels(*nvrtc, "sm_75");
  EXPECT_GT(kernels, 200u);
  for (const char* newer : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"})
    EXPECT_EQ(expect_lean_kernels(*nvrtc, newer), kernels) << newer;
  EXPECT_GT(expect_lean_kernels(*nvrtc, "sm_90a"), kernels);  // also products of four warps
}

TEST(CompileAll, V100) {
  const char* library = std::getenv("HONE_NVRTC_12");
  if (library == nullptr) GTEST_SKIP() << "HONE_NVRTC_12 names no library";
  ::setenv("HONE_NVRTC", library, 1);
  const Result<KernelCompiler> nvrtc = KernelCompiler::open();
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.error().text();
  EXPECT_EQ(nvrtc->version().substr(0, 3), "12.");
  EXPECT_GT(expect_lean_kernels(*nvrtc, "sm_70"), 200u);
}

}  // namespace
}  // namespace hone::cuda
