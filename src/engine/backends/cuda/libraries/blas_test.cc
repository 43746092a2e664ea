#include "engine/backends/cuda/libraries/blas.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "engine/backends/cuda/libraries/errors.h"

namespace hone::cuda {
namespace {

TEST(Blas, ALibraryThatIsNotThereIsNamed) {
  ::setenv("HONE_CUBLASLT", "/nowhere/libcublasLt.so.13", 1);
  const Result<Blas> blas = load_blas();
  ::unsetenv("HONE_CUBLASLT");
  ASSERT_FALSE(blas.ok());
  EXPECT_STREQ(blas.error().code(), err::kNoBlas.id);
  EXPECT_NE(blas.error().what().find("/nowhere/libcublasLt.so.13"), std::string::npos);
}

TEST(Blas, AlgorithmsAreKept) {
  const std::string path = testing::TempDir() + "hone_algorithms";
  std::remove(path.c_str());
  const LibraryProduct one{.type = CUDA_R_16BF, .result = CUDA_R_32F, .m = 2, .n = 8, .k = 4};
  LibraryProduct other = one;
  other.has_bias = true;
  EXPECT_NE(one.text(), other.text());
  LibraryProduct padded = one;
  padded.step_z = 64;
  EXPECT_NE(one.text(), padded.text());
  const cublasLtMatmulAlgo_t a{{1, 2, 3, ~uint64_t{0}, 5, 6, 7, 8}};
  Algorithms first(path);
  EXPECT_EQ(first.find(one.text()), nullptr);
  first.add(one.text(), a);
  std::ofstream(path, std::ios::app) << other.text() << " : 0123\nno algorithm\n";
  const Algorithms again(path);
  ASSERT_NE(again.find(one.text()), nullptr);
  EXPECT_EQ(again.find(one.text())->data[3], ~uint64_t{0});
  EXPECT_EQ(again.find(one.text())->data[7], 8u);
  EXPECT_EQ(again.find(other.text()), nullptr) << "its line is not whole";
  std::remove(path.c_str());
}

}  // namespace
}  // namespace hone::cuda
