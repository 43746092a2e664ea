#include "engine/backends/cuda/libraries/kept_kernels.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hone::cuda {
namespace {

using Names = std::set<std::string>;

class KeptKernels : public testing::Test {
 protected:
  KeptKernels() { std::filesystem::remove_all(folder_); }
  ~KeptKernels() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ = testing::TempDir() + "hone_kept_kernels";
};

TEST_F(KeptKernels, AreFoundByName) {
  Names wanted = {"exp_f32"};
  EXPECT_TRUE(kept_kernels(folder_, wanted).empty());
  const std::string bytes(
      "\x7f"
      "ELF\0\n\0",
      7);
  ASSERT_TRUE(keep_kernels(folder_, {{"exp_f32", "log_f32"}, bytes}).ok());
  ASSERT_TRUE(keep_kernels(folder_, {{"tanh_f32"}, "other"}).ok());
  wanted = {"exp_f32", "log_f32", "sin_f32"};
  const auto found = kept_kernels(folder_, wanted);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cubin, bytes);
  EXPECT_EQ(wanted, Names{"sin_f32"});
}

TEST_F(KeptKernels, OfAllKernelsAreKnown) {
  EXPECT_FALSE(has_all_kernels(folder_));
  ASSERT_TRUE(keep_all_kernels(folder_, {{"exp_f32"}, "code"}).ok());
  EXPECT_TRUE(has_all_kernels(folder_));
  Names wanted = {"exp_f32"};
  EXPECT_EQ(kept_kernels(folder_, wanted).size(), 1u);
}

TEST_F(KeptKernels, FilesOfOthersAreLeftOut) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/cut.kernels") << "kernels: exp_f32";
  std::ofstream(folder_ + "/empty.kernels") << "kernels: exp_f32\n";
  std::ofstream(folder_ + "/other.txt") << "kernels: exp_f32\ncode";
  Names wanted = {"exp_f32"};
  EXPECT_TRUE(kept_kernels(folder_, wanted).empty());
}

}  // namespace
}  // namespace hone::cuda
