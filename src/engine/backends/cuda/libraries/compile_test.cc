// All kernels, where the compiler is here (the variable HONE_NVRTC).
#include "engine/backends/cuda/libraries/compile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "engine/backends/cuda/libraries/errors.h"

namespace hone {
namespace {

using cuda::KernelCompiler;

TEST(Compile, EveryKernel) {
  Result<KernelCompiler> nvrtc = KernelCompiler::open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().text();
  // To PTX, for the newest instructions; compile_nightly_test.cc makes cubins.
  const Result<KernelCompiler::Compiled> ptx = nvrtc->compile("compute_90");
  EXPECT_TRUE(ptx.ok()) << ptx.error().text();
}

TEST(Compile, IsDoneOnce) {
  const std::string folder = testing::TempDir() + "hone_cubins";
  std::filesystem::remove_all(folder);
  ::setenv("HONE_CACHE", folder.c_str(), 1);
  int made = 0;
  const auto make = [&]() -> Result<std::string> { return fmt::format("cubin {}", ++made); };
  EXPECT_EQ(cuda::kept_cubin("a", make).value(), "cubin 1");
  EXPECT_EQ(cuda::kept_cubin("a", make).value(), "cubin 1");
  EXPECT_EQ(cuda::kept_cubin("b", make).value(), "cubin 2");
  EXPECT_TRUE(std::filesystem::exists(folder + "/cuda/a.cubin"));
  ::unsetenv("HONE_CACHE");
  std::filesystem::remove_all(folder);
}

TEST(Compile, ALibraryThatIsNotThereIsNamed) {
  const char* before = std::getenv("HONE_NVRTC");
  const std::string kept = before ? before : "";
  ::setenv("HONE_NVRTC", "/nowhere/libnvrtc.so", 1);
  const Result<KernelCompiler> nvrtc = KernelCompiler::open();
  ASSERT_FALSE(nvrtc.ok());
  EXPECT_EQ(nvrtc.error().code(), err::kNoKernels.id);
  EXPECT_NE(nvrtc.error().what().find("/nowhere/libnvrtc.so"), std::string::npos);
  before ? ::setenv("HONE_NVRTC", kept.c_str(), 1) : ::unsetenv("HONE_NVRTC");
}

}  // namespace
}  // namespace hone
