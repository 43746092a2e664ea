// All kernels for one architecture, where the compiler is here (the variable HONE_NVRTC).
#include "engine/backends/cuda/compile/compile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/store/store.h"
#include "engine/backends/cuda/compile/errors.h"
#include "engine/backends/cuda/compile/lean_kernels_test.h"

namespace hone {
namespace {

using cuda::KernelCompiler;

TEST(Compile, EveryKernel) {
  Result<KernelCompiler> nvrtc = KernelCompiler::open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().text();
  EXPECT_GT(cuda::expect_lean_kernels(*nvrtc, "sm_90"), 200u);
}

TEST(Compile, IsDoneOnce) {
  Result<KernelCompiler> nvrtc = KernelCompiler::open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().text();
  const std::string folder = testing::TempDir() + "hone_cubins";
  std::filesystem::remove_all(folder);
  ::setenv("HONE_CACHE", folder.c_str(), 1);
  const std::string cubin = nvrtc->kernels_for("sm_90").value();
  std::vector<std::filesystem::path> files;
  for (const auto& f : std::filesystem::directory_iterator(folder + "/cuda"))
    files.push_back(f.path());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].extension(), ".cubin");
  ASSERT_TRUE(file_store().write(files[0].string(), "kept").ok());
  EXPECT_EQ(nvrtc->kernels_for("sm_90").value(), "kept");
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
