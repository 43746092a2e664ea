// The part of the CUDA driver API that hone calls: a table of functions, filled from the driver's
// library or by an emulated driver. Names, arguments and results are those of NVIDIA's CUDA Driver
// API reference; the toolkit's headers are not needed.
#pragma once

#include <cstddef>
#include <memory>

#include "base/core/error.h"

namespace hone::cuda {

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
  CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
};
enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};
enum CUfunction_attribute : int { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
enum CUstreamCaptureMode : int { CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 };
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUhostFn = void (*)(void* user_data);

// One member for each function in driver.def, a pointer to the function of this name in NVIDIA's reference. Every
// function returns a CUresult.
struct Driver {
#define HONE_CUDA(name, symbol, arguments) CUresult(*name) arguments = nullptr;
#include "engine/backends/cuda/libraries/driver.def"
#undef HONE_CUDA
};

// Loads and initializes the machine's driver (libcuda.so.1). Every member of the result is set. Error H1341: the driver
// is missing, is too old (its newest CUDA version is before 12.0, or it lacks a function), or cannot be initialized.
Result<Driver> load_driver();

// The major number of the newest CUDA version that the driver supports, such as 13.
int cuda_major(const Driver& driver);

// Converts the result of a call of the driver: Ok for CUDA_SUCCESS, else Error H1342 with the driver's text for
// `result`. `what`: the function that was called, such as "cuMemAlloc", for the message.
Status cuda_status(const Driver& driver, CUresult result, std::string_view what);

}  // namespace hone::cuda
