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
  const Result<KernelCompiler::Compiled> ptx =
      nvrtc->compile("compute_90a", {}, KernelCompiler::Code::plain);
  EXPECT_TRUE(ptx.ok()) << ptx.error().text();
}

TEST(Compile, KernelsThatAreWanted) {
  Result<KernelCompiler> nvrtc = KernelCompiler::open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().text();
  const std::string folder = testing::TempDir() + "hone_kernels";
  std::filesystem::remove_all(folder);
  ::setenv("HONE_CACHE", folder.c_str(), 1);
  const auto files = [&] {
    int64_t count = 0;
    for (const auto& e : std::filesystem::recursive_directory_iterator(folder))
      count += e.is_regular_file();
    return count;
  };
  const auto first = nvrtc->kernels_for("sm_90", {"exp_f32", "tanh_f32"});
  ASSERT_TRUE(first.ok()) << first.error().text();
  ASSERT_EQ(first->size(), 1u);
  EXPECT_EQ((*first)[0].kernels, (std::vector<std::string>{"exp_f32", "tanh_f32"}));
  EXPECT_EQ(files(), 1);
  const auto again = nvrtc->kernels_for("sm_90", {"exp_f32"});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)[0].cubin, (*first)[0].cubin);
  EXPECT_EQ(files(), 1);
  const auto more = nvrtc->kernels_for("sm_90", {"exp_f32", "log_f32"});
  ASSERT_TRUE(more.ok());
  ASSERT_EQ(more->size(), 2u);
  EXPECT_EQ((*more)[1].kernels, std::vector<std::string>{"log_f32"});
  EXPECT_EQ(files(), 2);
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
