// The kernels that a GPU gets, on the CPU, held to the reference backend.
#include "engine/backends/cuda/backend.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "engine/backends/cuda/emulate/grid.h"
#include "engine/backends/cuda/kernels/emulated.h"
#include "engine/backends/reference/reference.h"
#include "engine/device/conformance.h"

namespace hone {
namespace {

using namespace cuda;  // NOLINT: a table of its functions

Driver simple_driver() {
  add_emulated_kernels();
  Driver d;
  d.cuGetErrorString = [](CUresult, const char** t) {
    *t = "?";
    return CUDA_SUCCESS;
  };
  d.cuDeviceGet = [](CUdevice* v, int) {
    *v = 0;
    return CUDA_SUCCESS;
  };
  d.cuDeviceGetName = [](char* n, int, CUdevice) {
    std::strcpy(n, "emulated");
    return CUDA_SUCCESS;
  };
  d.cuDeviceTotalMem = [](size_t* b, CUdevice) {
    *b = size_t{1} << 30;
    return CUDA_SUCCESS;
  };
  d.cuDeviceGetAttribute = [](int* v, CUdevice_attribute, CUdevice) {
    *v = 9;
    return CUDA_SUCCESS;
  };
  d.cuDevicePrimaryCtxRetain = [](CUcontext*, CUdevice) { return CUDA_SUCCESS; };
  d.cuDevicePrimaryCtxRelease = [](CUdevice) { return CUDA_SUCCESS; };
  d.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  d.cuMemAlloc = [](CUdeviceptr* p, size_t n) {
    *p = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (n + 255) / 256 * 256));
    return CUDA_SUCCESS;
  };
  d.cuMemFree = [](CUdeviceptr p) {
    std::free(reinterpret_cast<void*>(p));
    return CUDA_SUCCESS;
  };
  d.cuMemHostAlloc = [](void** p, size_t n, unsigned) {
    *p = std::malloc(n);
    return CUDA_SUCCESS;
  };
  d.cuMemFreeHost = [](void* p) {
    std::free(p);
    return CUDA_SUCCESS;
  };
  d.cuStreamCreate = [](CUstream*, unsigned) { return CUDA_SUCCESS; };
  d.cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
  d.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; };
  d.cuStreamWaitEvent = [](CUstream, CUevent, unsigned) { return CUDA_SUCCESS; };
  d.cuEventCreate = [](CUevent* e, unsigned) {
    *e = reinterpret_cast<CUevent>(8);
    return CUDA_SUCCESS;
  };
  d.cuEventDestroy = [](CUevent) { return CUDA_SUCCESS; };
  d.cuEventRecord = [](CUevent, CUstream) { return CUDA_SUCCESS; };
  d.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) {
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), n);
    return CUDA_SUCCESS;
  };
  d.cuMemsetD8Async = [](CUdeviceptr to, unsigned char v, size_t n, CUstream) {
    std::memset(reinterpret_cast<void*>(to), v, n);
    return CUDA_SUCCESS;
  };
  d.cuLaunchHostFunc = [](CUstream, CUhostFn f, void* a) {
    f(a);
    return CUDA_SUCCESS;
  };
  d.cuModuleLoadData = [](CUmodule*, const void*) { return CUDA_SUCCESS; };
  d.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  d.cuModuleGetFunction = [](CUfunction* f, CUmodule, const char* name) {
    const emulate::Function* found = emulate::find_function(name);
    if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
    *f = reinterpret_cast<CUfunction>(const_cast<emulate::Function*>(found));
    return CUDA_SUCCESS;
  };
  d.cuLaunchKernel = [](CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream, void** arguments,
                        void**) {
    const auto* function = reinterpret_cast<const emulate::Function*>(f);
    emulate::run_grid({{gx, gy, gz}, {bx, by, bz}, shared, emulate::Order::backward},
                      [&] { function->run(arguments); });
    return CUDA_SUCCESS;
  };
  return d;
}

TEST(Cuda, Conformance) {
  const auto backend = std::move(make_cuda_backend(simple_driver(), 0, "").value());
  const char* only = std::getenv("HONE_ONLY");
  const ConformanceReport r = run_conformance(*backend, reference_backend(),
                                              HONE_SOURCE_DIR "/tests/ops", only ? only : "");
  EXPECT_TRUE(r.failures.empty()) << r.text();
  EXPECT_GT(r.checks, 1000) << r.text();
}

}  // namespace
}  // namespace hone
