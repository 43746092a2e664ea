#include "engine/backends/cuda/libraries/driver.h"

#include <gtest/gtest.h>

#include "engine/backends/cuda/libraries/errors.h"

namespace hone {
namespace {

TEST(Driver, IsThereOrSaysWhyNot) {
  const Result<cuda::Driver> driver = cuda::load_driver();
  if (driver.ok()) {
    EXPECT_NE(driver->cuLaunchKernel, nullptr);
    return;
  }
  EXPECT_EQ(driver.error().code(), err::kNoDriver.id);
  EXPECT_FALSE(driver.error().what().empty());
}

TEST(Driver, ErrorsHaveItsText) {
  cuda::Driver driver;
  driver.cuGetErrorString = [](cuda::CUresult, const char** text) {
    *text = "out of memory";
    return cuda::CUDA_SUCCESS;
  };
  EXPECT_TRUE(cuda_status(driver, cuda::CUDA_SUCCESS, "a copy").ok());
  const Status failed =
      cuda_status(driver, cuda::CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc of 5 bytes");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), err::kCudaFails.id);
  EXPECT_EQ(failed.error().what(), "cuMemAlloc of 5 bytes failed: out of memory (error 2)");
}

}  // namespace
}  // namespace hone
