#include "engine/backends/cuda/blas/blas.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/backends/cuda/driver/errors.h"

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

}  // namespace
}  // namespace hone::cuda
